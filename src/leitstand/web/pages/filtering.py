"""What the form above a list asks for, and the way to the list's next page."""

from urllib.parse import urlencode

from pydantic import BaseModel


class Filter(BaseModel):
    """The fields of such a form; the empty ones mean all."""

    cursor: str = ""

    def older(self, cursor: str | None) -> str | None:
        """The query of the page after this one; None if this is the last."""
        if cursor is None:
            return None
        fields = self.model_copy(update={"cursor": cursor}).model_dump()
        return urlencode({name: value for name, value in fields.items() if value})
