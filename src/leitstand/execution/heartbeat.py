"""Vouches for the runs of this process, in a thread and on a connection of its own.

Neither a blocked event loop nor a busy executor can starve it. It also judges its own process: a
run whose heartbeat has not been committed for 80 % of the stale timeout is killed here, before
anybody may take it over.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from leitstand.errors import UnavailableError
from leitstand.execution.held_run import HaltReason, HeldRuns, Lease

log = logging.getLogger(__name__)

BEAT_DEADLINE = 5.0
"""Seconds that one heartbeat may take, connecting included."""

STOP_PATIENCE = 0.5
"""Seconds that the end waits for a beat: a server that ends has no time for a slow database."""

FENCE_SHARE = 0.8
"""Share of the stale timeout after which an owner without a committed heartbeat gives up itself."""


class News(Enum):
    """What a heartbeat may learn about its own process."""

    STRUCK_OFF = auto()
    """It is no longer registered: others may have taken its runs."""
    DRAINING = auto()
    """Somebody has asked it to claim nothing more."""


@dataclass(frozen=True)
class Beat:
    """What a committed heartbeat said about this process and its runs."""

    registered: bool
    draining: bool
    held: frozenset[int]
    beaten: frozenset[int]
    cancelled: frozenset[int]


class Pulse(Protocol):
    """Carries heartbeats to where they count; all calls come from one event loop."""

    async def beat(self, leases: Sequence[Lease]) -> Beat:
        """Vouch for the leases; raises UnavailableError or OSError when it is not known whether."""

    async def disconnect(self) -> None:
        """Let go of the connection; the next beat makes another."""


class Heartbeat:
    """Beats until stopped; ``on_news`` is called in the heartbeat's thread.

    ``interval`` and ``fence_after`` (without a committed beat) are seconds.
    """

    def __init__(
        self,
        pulse: Pulse,
        runs: HeldRuns[Any],
        interval: float,
        fence_after: float,
        on_news: Callable[[News], object],
    ) -> None:
        self._pulse = pulse
        self._runs = runs
        self._interval = interval
        self._fence_after = fence_after
        self._on_news = on_news
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin; the first beat follows at once."""
        self._thread.start()

    def stop(self) -> None:
        """End; a beat that is under way for longer than STOP_PATIENCE is left behind.

        It has no consequences any more: what its process holds may belong to the next life.
        """
        self._stop.set()
        self._thread.join(STOP_PATIENCE)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while not self._stop.is_set():
                runner.run(self.run_once())
                self._wait()
            runner.run(self._pulse.disconnect())

    def _wait(self) -> None:
        """Sleep until the next beat, waking in between to judge runs that went unvouched."""
        until = time.monotonic() + self._interval
        if not self._stop.is_set():
            self.fence()
        while (left := until - time.monotonic()) > 0:
            if self._stop.wait(min(left, self._fence_after / 10)):
                return
            self.fence()

    async def run_once(self) -> Beat | None:
        """One heartbeat and what follows from it; None, with a warning, when it failed."""
        sent = time.monotonic()
        leases = [held.lease for held in self._runs]
        try:
            async with asyncio.timeout(BEAT_DEADLINE):
                beat = await self._pulse.beat(leases)
        except (UnavailableError, OSError, TimeoutError) as error:
            log.warning("heartbeat missed: %s", str(error).strip() or type(error).__name__)
            await self._pulse.disconnect()
            return None
        except Exception:  # without this thread nothing would be vouched for, nor fenced
            log.exception("heartbeat failed unexpectedly")
            await self._pulse.disconnect()
            return None
        for held in self._runs:
            if held.lease.run_id in beat.beaten:
                held.vouch(sent)
        if not self._stop.is_set():
            self._act(beat, {lease.run_id for lease in leases})
        return beat

    def fence(self) -> None:
        """Kill what has not been vouched for long enough that others may soon take it over."""
        for held in self._runs:
            if (
                held.executing
                and held.left() == 0
                and held.stop_reason is not HaltReason.LEASE_LOST
            ):
                run = held.lease.run_id
                log.error("no heartbeat committed for too long, run %s is killed", run)
                held.stop(HaltReason.LEASE_LOST)

    def _act(self, beat: Beat, held_now: set[int]) -> None:
        if not beat.registered:
            log.error("no longer registered")
            self._on_news(News.STRUCK_OFF)
            return
        if beat.draining:
            self._on_news(News.DRAINING)
        for held in (held for held in self._runs if held.executing):
            run_id = held.lease.run_id
            if run_id in beat.cancelled and held.stop_reason is None:
                held.stop(HaltReason.PERSON)
            elif run_id in held_now - beat.held and held.stop_reason is not HaltReason.LEASE_LOST:
                log.warning("lost lease of run %s, token %s", run_id, held.lease.fencing_token)
                held.stop(HaltReason.LEASE_LOST)
