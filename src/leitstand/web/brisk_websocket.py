"""WebSocket connections that end when they should, also with clients that read nothing."""

import asyncio

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

CLOSE_PATIENCE = 2.0
"""Seconds that a client gets to take note of the end."""


class BriskWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which by itself waits for ever for a client to read what it was sent."""

    _end: asyncio.TimerHandle | None = None

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message; a close goes out at once, behind what the client has not read yet."""
        if message["type"] != "websocket.close":
            await super().send(message)
            return
        self.writable.set()
        await super().send(message)
        self._end = self.loop.call_later(CLOSE_PATIENCE, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)
