"""Lets callers in by token, session or link, and slows down those who guess."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from leitstand.access.caller import Caller
from leitstand.access.ledger import AccessLedger
from leitstand.errors import LeitstandError
from leitstand.failed_attempts import FailedAttempts

T = TypeVar("T")

HOW_TO_GET_IN = (
    "Open the link that `leitstand token login` prints, or send "
    "`Authorization: Bearer TOKEN`; `leitstand token create` makes one."
)


LIMIT = 20
"""Failures of one address, from where several people may come, before it has to wait."""


class UnauthenticatedError(LeitstandError):
    """Nobody knows who the caller is."""

    code = "UNAUTHENTICATED"


class Gate:
    """Says who a caller is. ``lifetime`` is how long a browser stays logged in, in seconds."""

    def __init__(
        self, ledger: AccessLedger, lifetime: float, failures: FailedAttempts | None = None
    ) -> None:
        self._ledger = ledger
        self._failures = FailedAttempts(LIMIT) if failures is None else failures
        self.lifetime = lifetime

    async def caller(
        self, authorization: bytes | None, session: bytes | None, address: str
    ) -> Caller:
        """Who sends this header or else this session's secret.

        Raises UnauthenticatedError, the same after the same work for whatever is not valid, and
        TooManyFailuresError before any work.
        """
        if authorization is not None:
            scheme, _, secret = authorization.partition(b" ")
            known = secret.strip() if scheme.lower() == b"bearer" else b""
            return await self.by_token(known, address)
        if session is not None:
            return await self._tried(address, self._ledger.owner_of_session, session)
        raise UnauthenticatedError("nobody is logged in here", remedy=HOW_TO_GET_IN)

    async def by_token(self, secret: bytes, address: str) -> Caller:
        """Whose token it is; raises as ``caller`` does."""
        return await self._tried(address, self._ledger.owner_of_token, secret)

    async def session_by_link(self, secret: bytes, address: str) -> str:
        """The secret of a new session, for a link that is used up by this; raises as ``caller``."""
        return await self._tried(
            address, lambda link: self._ledger.session_by_link(link, self.lifetime), secret
        )

    async def session_by_token(self, secret: bytes, address: str) -> str:
        """The secret of a new session, for a token; raises as ``caller`` does."""
        return await self._tried(
            address, lambda token: self._ledger.session_by_token(token, self.lifetime), secret
        )

    async def end_session(self, secret: bytes) -> None:
        """Log the browser out."""
        await self._ledger.end_session(secret)

    async def _tried(
        self, address: str, look: Callable[[bytes], Awaitable[T | None]], secret: bytes
    ) -> T:
        self._failures.check(address)
        found = await look(secret)
        if found is None:
            self._failures.add(address)
            raise UnauthenticatedError("these credentials are not valid", remedy=HOW_TO_GET_IN)
        return found
