"""The PostgreSQL server that Leitstand brings along: one per data directory, shared by all users.

Whoever needs it shares a lock on ``users.lock``; the kernel drops it when a process dies, however
that happens. Whoever comes looks for a running server first and starts one only if there is none
(so a server whose Leitstand was killed is adopted); whoever leaves stops it if nobody else shares
the lock. ``start.lock`` makes coming and leaving take turns.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import structlog

from leitstand.errors import LeitstandError
from leitstand.store.bring_up import DATABASE, BringUp, EmbeddedError, NotAnsweringError
from leitstand.store.cluster import Cluster, Sign
from leitstand.store.file_lock import FileLock, LockedError
from leitstand.store.interruptible import in_thread
from leitstand.store.place import Place, prepare_place
from leitstand.store.reachable import SHARED, reachable_binaries

log = structlog.get_logger(__name__)

TURN_DEADLINE = 330.0
"""Seconds to wait while another process starts or stops the server."""

STOP_PATIENCE = 30.0
"""Seconds that the server gets to stop when its last user leaves."""

HANGING_PATIENCE = 3.0
"""The same for a server that does not even answer."""

LAST_WORDS = 1.0
"""Seconds that it gets to answer before that, and for its immediate stop after that."""


class EmbeddedServer:
    """A use of the embedded server of ``data_dir``, from ``async with`` to its end.

    ``options`` are further server settings, for when this use happens to start it. ``shared`` is
    where root puts what PostgreSQL's account cannot reach below ``data_dir``. ``patience`` tells at
    the end how many seconds stopping it may take.
    """

    def __init__(
        self,
        data_dir: Path,
        options: Mapping[str, str] | None = None,
        shared: Path = SHARED,
        patience: Callable[[], float] = lambda: STOP_PATIENCE,
    ) -> None:
        self._data_dir = data_dir
        self._options = dict(options or {})
        self._shared = shared
        self._patience = patience
        self._place: Place | None = None
        self._users: FileLock | None = None
        self._cluster: Cluster | None = None

    @property
    def place(self) -> Place:
        """Its directories; known once it is open."""
        if self._place is None:
            raise RuntimeError("the embedded server is not open")
        return self._place

    @property
    def cluster(self) -> Cluster:
        """Its data directory with programs and account; known once it is open."""
        if self._cluster is None:
            raise RuntimeError("the embedded server is not open")
        return self._cluster

    @property
    def conninfo(self) -> str:
        """The way to the control database, as the role ``leitstand``; it holds no secret."""
        return self.cluster.conninfo(self.place.socket_dir, DATABASE)

    async def __aenter__(self) -> Self:
        try:
            await in_thread(self.open)
        except asyncio.CancelledError:
            await in_thread(self.close)
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await in_thread(self.close)

    async def ensure_running(self) -> bool:
        """Start the server again if it is gone; returns whether that was necessary.

        Costs one connection attempt when it answers. Raises ClusterError, NotAnsweringError or
        LockedError when it cannot be had; calling again later is right.
        """
        return await in_thread(self.revive)

    async def watch(self, interval: float = 5.0) -> None:
        """Call ``ensure_running`` every ``interval`` seconds until cancelled; errors are logged."""
        while True:
            await asyncio.sleep(interval)
            try:
                await self.ensure_running()
            except LeitstandError as error:
                log.warning("embedded database is down", **error.as_dict())

    def open(self) -> None:
        """Begin to use it: find or start it, create what is missing. Blocks.

        Raises NotAnsweringError for a server that hangs, which is left as it is.
        """
        self._place = prepare_place(self._data_dir, self._shared)
        binaries = reachable_binaries(self._place.account, self._shared)
        self._cluster = Cluster(self._place.cluster, binaries, self._place.account)
        users = FileLock(self._place.users_lock, TURN_DEADLINE)
        self._bring_up().find()  # first, so that one that hangs is found out by all at once
        with FileLock(self._place.start_lock, TURN_DEADLINE):
            users.share()
            self._users = users
            try:
                self._bring_up().run()
            except NotAnsweringError:
                self._let_go()
                raise
            except BaseException:
                self._leave()
                raise

    def close(self) -> None:
        """End the use; the last one stops the server. Blocks; nothing happens if not open.

        Raises ClusterError if the server does not stop.
        """
        if self._users is None:
            return
        try:
            with FileLock(self.place.start_lock, self._patience()):
                self._leave()
        except LockedError as error:
            # Somebody else is in the middle of starting it, so it is theirs now.
            log.warning("embedded database left as it is", error=error.message)
        finally:
            self._let_go()

    def revive(self) -> bool:
        """What ``ensure_running`` does. Blocks."""
        self.place.trim_log()
        if self._bring_up().find():
            return False
        with FileLock(self.place.start_lock, TURN_DEADLINE):
            if not self.place.cluster.exists():
                # A new, empty database would hide the loss, and its backups push out the good ones.
                raise EmbeddedError(
                    f"the data directory {self.place.cluster} has vanished",
                    remedy="Mount the file system that it is on, or restore it from a backup.",
                )
            return self._bring_up().run()

    def _bring_up(self) -> BringUp:
        return BringUp(self.place, self.cluster, self._options)

    def _leave(self) -> None:
        """Stop the server if nobody else uses it. The start lock must be held."""
        if self._users is None:
            return
        try:
            if self._users.held_by_nobody_else():
                self._stop()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._users is not None:
            self._users.release()
            self._users = None

    def _stop(self) -> None:
        silent = self.cluster.ask(self.place.socket_dir, LAST_WORDS) is Sign.SILENT
        patience = min(self._patience(), HANGING_PATIENCE if silent else STOP_PATIENCE)
        if self.cluster.stop(patience, LAST_WORDS):
            log.info("embedded database stopped")
        if self.place.socket_dir.parent != self.place.directory:
            try:
                self.place.socket_dir.rmdir()
            except OSError:  # gone already, or a server that we do not see has its socket there
                pass


@asynccontextmanager
async def embedded_server(data_dir: Path) -> AsyncIterator[str]:
    """The way to the control database below ``data_dir``, for as long as the block lasts."""
    async with EmbeddedServer(data_dir) as server:
        yield server.conninfo
