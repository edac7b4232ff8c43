"""Access to the HTTP interface: API tokens with roles, login links, the sessions of browsers."""

from leitstand.access.caller import Caller, ForbiddenError
from leitstand.access.gate import Gate, UnauthenticatedError
from leitstand.access.ledger import AccessLedger
from leitstand.access.role import Role
from leitstand.access.token import ApiToken

__all__ = [
    "AccessLedger",
    "ApiToken",
    "Caller",
    "ForbiddenError",
    "Gate",
    "Role",
    "UnauthenticatedError",
]
