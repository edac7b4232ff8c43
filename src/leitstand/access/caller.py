"""Who has made a request, once that is known."""

from dataclasses import dataclass

from leitstand.access.role import Role
from leitstand.errors import LeitstandError


class ForbiddenError(LeitstandError):
    """The caller is known, and may not do this."""

    code = "FORBIDDEN"


@dataclass(frozen=True)
class Caller:
    """The owner of a token or of a browser's session; ``name`` stands in the history.

    ``by_cookie``: a browser sends its cookie along with whatever makes it send a request, so that
    one which changes something must be proved to come from our own pages.
    """

    name: str
    role: Role
    by_cookie: bool = False

    def require(self, role: Role) -> None:
        """Raise ForbiddenError for a caller with a smaller role."""
        if not self.role.includes(role):
            raise ForbiddenError(
                f"this takes the role {role}, and {self.name} has {self.role}",
                remedy=f"Use a token with the role: leitstand token create NAME --role {role}",
            )
