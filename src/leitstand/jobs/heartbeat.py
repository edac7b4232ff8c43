"""Vouches for this server's runs, in a thread and on a connection of its own.

Neither a blocked event loop nor a busy executor can starve it. It also judges its own server: a
run whose heartbeat has not been committed for 80 % of the stale timeout is killed here, before
another server may take it over.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

import psycopg
import structlog
from psycopg.rows import dict_row

from leitstand.jobs.held_run import HeldRuns, StopReason
from leitstand.jobs.loop_settings import LoopSettings
from leitstand.store.connection import Connection, connection_options
from leitstand.store.database import load_queries

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

BEAT_DEADLINE = 5.0
"""Seconds that one heartbeat may take, connecting included."""

STOP_PATIENCE = 0.5
"""Seconds that the end waits for a beat: a server that ends has no time for a slow database."""

SKEW_LIMIT = 5.0
"""Seconds between this machine's clock and the database's above which a warning is due."""


class News(Enum):
    """What a heartbeat may learn about its own server."""

    STRUCK_OFF = auto()
    """The server is no longer registered: others may have taken its runs."""
    DRAINING = auto()
    """Somebody has asked it to claim nothing more."""


@dataclass(frozen=True)
class Beat:
    """What a committed heartbeat said about this server and its runs."""

    registered: bool
    draining: bool
    held: frozenset[int]
    beaten: frozenset[int]
    cancelled: frozenset[int]


class Heartbeat:
    """Beats until stopped; ``on_news`` is called in the heartbeat's thread."""

    def __init__(  # noqa: PLR0913 -- a place, a name, what to watch, by what, whom to tell
        self,
        conninfo: str,
        instance: str,
        runs: HeldRuns,
        settings: LoopSettings,
        on_news: Callable[[News], object],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._conninfo = conninfo
        self._instance = instance
        self._runs = runs
        self._settings = settings
        self._on_news = on_news
        self._clock = clock
        self._stop = threading.Event()
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin; the first beat follows at once."""
        self._thread.start()

    def stop(self) -> None:
        """End; a beat that is under way for longer than STOP_PATIENCE is left behind.

        It has no consequences any more: what its server holds may belong to the next life.
        """
        self._stop.set()
        self._thread.join(STOP_PATIENCE)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while not self._stop.is_set():
                runner.run(self.run_once())
                self._wait()
            runner.run(self._disconnect())

    def _wait(self) -> None:
        """Sleep until the next beat, waking in between to judge runs that went unvouched."""
        until = time.monotonic() + self._settings.heartbeat
        if not self._stop.is_set():
            self.fence()
        while (left := until - time.monotonic()) > 0:
            if self._stop.wait(min(left, self._settings.fence_after / 10)):
                return
            self.fence()

    async def run_once(self) -> Beat | None:
        """One heartbeat and what follows from it; None, with a warning, when it failed."""
        sent = time.monotonic()
        held_now = {held.lease.run_id for held in self._runs}
        try:
            async with asyncio.timeout(BEAT_DEADLINE):
                beat = await self._beat()
        except (psycopg.Error, OSError, TimeoutError) as error:
            log.warning("heartbeat missed", instance=self._instance, error=str(error).strip())
            await self._disconnect()
            return None
        for held in self._runs:
            if held.lease.run_id in beat.beaten:
                held.vouch(sent)
        if not self._stop.is_set():
            self._act(beat, held_now)
        return beat

    def fence(self) -> None:
        """Kill what has not been vouched for long enough that others may soon take it over."""
        for held in self._runs:
            if (
                held.executing
                and held.left() == 0
                and held.stop_reason is not StopReason.LEASE_LOST
            ):
                log.error("no heartbeat committed for too long, run killed", run=held.lease.run_id)
                held.stop(StopReason.LEASE_LOST)

    def _act(self, beat: Beat, held_now: set[int]) -> None:
        if not beat.registered:
            log.error("this server is no longer registered", instance=self._instance)
            self._on_news(News.STRUCK_OFF)
            return
        if beat.draining:
            self._on_news(News.DRAINING)
        for held in (held for held in self._runs if held.executing):
            run_id = held.lease.run_id
            if run_id in beat.cancelled and held.stop_reason is None:
                held.stop(StopReason.PERSON)
            elif run_id in held_now - beat.held and held.stop_reason is not StopReason.LEASE_LOST:
                log.warning("lost lease", run=run_id, token=held.lease.fencing_token)
                held.stop(StopReason.LEASE_LOST)

    async def _beat(self) -> Beat:
        connection = await self._connected()
        leases = [held.lease for held in self._runs]
        row = await queries.beat(
            connection,
            instance=self._instance,
            own_clock=self._clock(),
            ids=[lease.run_id for lease in leases],
            tokens=[lease.fencing_token for lease in leases],
        )
        if abs(row["skew"] or 0.0) > SKEW_LIMIT:
            log.warning("clocks differ; the database's decides", seconds=round(row["skew"], 1))
        return Beat(
            registered=row["registered"],
            draining=bool(row["draining"]),
            held=frozenset(row["held"]),
            beaten=frozenset(row["beaten"]),
            cancelled=frozenset(row["cancelled"]),
        )

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await Connection.connect(
                self._conninfo, row_factory=dict_row, **connection_options(BEAT_DEADLINE)
            )
            await self._connection.execute(f"SET statement_timeout = {int(BEAT_DEADLINE * 1000)}")
        return self._connection

    async def _disconnect(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
