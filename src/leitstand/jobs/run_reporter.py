"""Gathers log lines and progress of running runs and writes them once a second."""

import asyncio

import psycopg
import structlog

from leitstand.execution import Lease, LogBuffer
from leitstand.jobs.queue import Queue
from leitstand.store.database import DatabaseUnavailableError

log = structlog.get_logger(__name__)

INTERVAL = 1.0
"""Seconds between two writes: how far what is shown may lag behind."""


class RunReporter(LogBuffer):
    """The Reporter of one run of this server."""

    def __init__(self, lease: Lease) -> None:
        super().__init__()
        self.lease = lease


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
        except Exception:  # such as progress that is no number
            log.exception("log lines of runs were lost", runs=len(texts))
