"""Serves the site inside an event loop that is not uvicorn's own."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from fastapi import FastAPI

from leitstand.errors import LeitstandError
from leitstand.web.brisk_protocol import BriskProtocol
from leitstand.web.brisk_websocket import BriskWebSocket

CLOSE_PATIENCE = 1
"""Seconds that open requests get when the server ends."""


MESSAGE_LIMIT = 16384
"""Bytes of a message that a WebSocket client sends."""


class ListenError(LeitstandError):
    """The address for HTTP cannot be used."""

    code = "LISTEN"


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers: the end of the process is decided elsewhere."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; ListenError says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it; else a body waits 40 ms for the client to acknowledge the headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if host == "::":  # every interface means both families, whatever the system's default
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, UnicodeError) as error:  # the latter for a host that can be no name
        listener.close()
        place = f"[{host}]:{port}" if family is socket.AF_INET6 else f"{host}:{port}"
        why = error.strerror if isinstance(error, OSError) else "that is no host"
        raise ListenError(
            f"cannot listen on {place}: {why}",
            remedy="Set server.listen to a free address, or stop what uses this one.",
        ) from error
    return listener


@contextlib.asynccontextmanager
async def serving(app: FastAPI, listener: socket.socket) -> AsyncIterator[None]:
    """Answer requests for as long as the context lasts; ready when it is entered."""
    config = uvicorn.Config(
        app,
        http=BriskProtocol,
        ws=BriskWebSocket,
        ws_max_size=MESSAGE_LIMIT,
        ws_per_message_deflate=False,  # it would cost its memory for each client
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=CLOSE_PATIENCE,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
