"""A proxy before a PostgreSQL socket that can stop passing bytes on, as a network does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

SOCKET = ".s.PGSQL.5432"


class StallingProxy:
    """Passes bytes between clients and a server's socket, as long as ``flowing`` is set."""

    def __init__(self, target: Path) -> None:
        self.directory = target / "proxy"
        self.flowing = asyncio.Event()
        self.flowing.set()
        self._target = target / SOCKET
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect one client through; a server that is away refuses it."""
        self._writers.add(writer)
        try:
            answers, requests = await asyncio.open_unix_connection(str(self._target))
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(requests)
        for pump in (self._pump(reader, requests), self._pump(answers, writer)):
            task = asyncio.create_task(pump)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self.flowing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)

    async def close(self) -> None:
        """Cut everybody off."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def stalling_proxy(target: Path) -> AsyncIterator[StallingProxy]:
    """A proxy before the server whose socket is in ``target``."""
    proxy = StallingProxy(target)
    proxy.directory.mkdir()
    server = await asyncio.start_unix_server(proxy.accept, str(proxy.directory / SOCKET))
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
