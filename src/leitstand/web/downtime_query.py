"""Which downtimes are asked for, as the API and the pages have it in a query."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, field_validator

if TYPE_CHECKING:
    from leitstand.downtimes import Wanted

NAME = r"^[^\x00]+$"
"""What can be the name of a host or service; databases refuse NUL even in questions."""

KINDS = ("host", "service")
OPEN_STATES = ("scheduled", "running", "overdue")


class DowntimeQuery(BaseModel):
    """Filters of a list; what is empty, as in a form, means all."""

    host: str | None = Field(None, pattern=NAME, description="Of this host, and of its services.")
    service: str | None = Field(None, pattern=NAME, description="Of services of this name.")
    kind: Literal["host", "service"] | None = Field(None, description="Of hosts, or of services.")

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:  # noqa: ANN401 -- before validation
        return None if value == "" else value

    def wanted(self) -> "Wanted":
        """For the tables, which must have been opened."""
        # Imported here: whoever has opened the tables has paid for it.
        from leitstand.downtimes import Kind, Wanted  # noqa: PLC0415

        kind = None if self.kind is None else Kind(self.kind)
        return Wanted(host=self.host, service=self.service, kind=kind)


class OpenQuery(DowntimeQuery):
    """Filters of what the core has."""

    state: Literal["scheduled", "running", "overdue"] | None = None

    def wanted(self) -> "Wanted":
        """With the state."""
        from leitstand.downtimes import State  # noqa: PLC0415 -- as above

        state = None if self.state is None else State(self.state)
        return replace(super().wanted(), state=state)


class PastQuery(DowntimeQuery):
    """Filters of the history: what lay between two times, even in part."""

    begin: datetime | None = Field(None, alias="from", description="Not over before.")
    end: datetime | None = Field(None, alias="to", description="Begun before.")

    def wanted(self) -> "Wanted":
        """With the times."""
        return replace(super().wanted(), begin=_seconds(self.begin), end=_seconds(self.end))


def _seconds(moment: datetime | None) -> float | None:
    """Unix seconds; without a zone it is UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
