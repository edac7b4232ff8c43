"""Gathers log lines and progress of running runs and writes them once a second."""

import asyncio
import threading
from dataclasses import dataclass, field

import psycopg
import structlog

from leitstand.jobs.queue import Queue
from leitstand.jobs.run import Lease
from leitstand.store.database import DatabaseUnavailableError

log = structlog.get_logger(__name__)

INTERVAL = 1.0
"""Seconds between two writes: how far what is shown may lag behind."""

LINE_LIMIT = 40_000
"""Characters of one line that are kept."""

RUN_LIMIT = 1_000_000
"""Characters of log that one run may store; what follows is counted, not kept."""


@dataclass
class RunReporter:
    """The Reporter of one run; its calls cost a lock and may come from any thread."""

    lease: Lease
    lines: list[str] = field(default_factory=list)
    latest: tuple[float | None, str | None] | None = None
    stored: int = 0
    dropped: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def log(self, line: str) -> None:
        """Add one line to the run's log."""
        line = line[:LINE_LIMIT].replace("\x00", "\N{REPLACEMENT CHARACTER}")
        with self.lock:
            if self.stored + len(line) > RUN_LIMIT:
                self.dropped += 1
                return
            self.stored += len(line) + 1
            self.lines.append(line)

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """Replace the run's progress."""
        with self.lock:
            self.latest = (percent, message)

    def silent(self) -> bool:
        """Whether there is nothing left to write."""
        with self.lock:
            return not (self.lines or self.latest or self.dropped)

    def take_text(self, final: bool) -> str:
        """The lines since the last call, with the count of dropped ones when this is the last."""
        with self.lock:
            lines, self.lines = self.lines, []
            if final and self.dropped:
                lines.append(f"[{self.dropped} more lines were not kept]")
        return "\n".join(lines)

    def take_progress(self) -> tuple[float | None, str | None] | None:
        """The newest progress since the last call, None if there is none."""
        with self.lock:
            latest, self.latest = self.latest, None
        return latest


class ReportWriter:
    """Writes what the reporters have gathered, all runs in one statement."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._reporters: dict[int, RunReporter] = {}

    def open(self, lease: Lease) -> RunReporter:
        """A reporter for a run that starts now."""
        reporter = RunReporter(lease)
        self._reporters[lease.run_id] = reporter
        return reporter

    async def close(self, reporter: RunReporter, patience: float | None = None) -> None:
        """Write the rest of a run's log; must happen before its outcome is written.

        After ``patience`` seconds it is left out; None leaves it to the database's deadline.
        """
        self._reporters.pop(reporter.lease.run_id, None)
        if not reporter.silent():
            # A cancellation of the run may not cost it its last words.
            await asyncio.shield(self._write_within(patience, reporter))

    async def run(self) -> None:
        """Write once a second until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            await self._write(list(self._reporters.values()), final=False)

    async def _write_within(self, patience: float | None, reporter: RunReporter) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._write([reporter], final=True)
        except TimeoutError:
            log.warning("the end of a run's log was lost", run=reporter.lease.run_id)

    async def _write(self, reporters: list[RunReporter], final: bool) -> None:
        texts = [(r.lease, text) for r in reporters if (text := r.take_text(final))]
        progress = [(r.lease, *latest) for r in reporters if (latest := r.take_progress())]
        try:
            if texts:
                await self._queue.append_logs(texts)
            if progress:
                await self._queue.set_progress(progress)
        except (DatabaseUnavailableError, psycopg.Error) as error:
            # A log is not worth a run: what the database does not take now is left out.
            log.warning("log lines of runs were lost", runs=len(texts), error=str(error).strip())
