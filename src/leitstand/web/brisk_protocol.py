"""HTTP connections that must come to the point: nobody holds one by sending slowly."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_PATIENCE = 10.0
"""Seconds that the head of a request may take from its connection or its first byte on."""

CONNECTION_LIMIT = 400
"""Open connections above which further ones are closed at once.

Files are what connections to the database and children need, too, and a process has 1,024 by
default.
"""


class BriskProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which by itself would wait for the head of a request for ever."""

    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTION_LIMIT:
            transport.abort()
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Expect the rest of a further request, which these bytes may begin."""
        if self.cycle is None or self.cycle.response_complete:
            self._expect_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is here; what follows is up to the answer and to keep-alive."""
        self._expect_nothing()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._expect_nothing()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._overdue is None:
            self._overdue = self.loop.call_later(HEAD_PATIENCE, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
