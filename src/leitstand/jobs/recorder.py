"""Writes how runs ended: in batches, for as long as it takes, and to disk if it takes too long."""

import asyncio
from collections.abc import Callable

import psycopg
import structlog

from leitstand.errors import FailureClass
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.queue import Queue
from leitstand.jobs.run_status import RunStatus
from leitstand.jobs.spool import Spool
from leitstand.store.database import DatabaseUnavailableError

log = structlog.get_logger(__name__)

LONGEST_PAUSE = 5.0
"""Seconds at most between two attempts to write while the database is away."""


class Recorder:
    """Takes outcomes from finished runs and writes whatever has gathered as one transaction.

    While the database is away outcomes wait in memory; what is still unwritten at the end goes
    to files in ``spool``, and the next start writes it (as a late result, if the run has been
    released by then).
    """

    def __init__(
        self, queue: Queue, spool: Spool, on_recorded: Callable[[FinishedRun, bool], None]
    ) -> None:
        self._queue = queue
        self._spool = spool
        self._on_recorded = on_recorded
        self._pending: list[FinishedRun] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def add(self, finished: FinishedRun) -> None:
        """Write this outcome as soon as possible; never blocks."""
        self._pending.append(finished)
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled."""
        pause = 0.1
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                if await self._write(self._pending[:500]):
                    pause = 0.1
                else:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
            self._idle.set()

    async def settle(self, patience: float) -> int:
        """Wait until all is written, at most ``patience`` seconds; spool and count the rest."""
        try:
            async with asyncio.timeout(patience):
                await self._idle.wait()
        except TimeoutError:
            pass
        for finished in self._pending:
            self._keep(finished)
        return len(self._pending)

    def _keep(self, finished: FinishedRun) -> None:
        try:
            self._spool.keep(finished)
        except OSError as error:  # a full disk: neither the others nor the way out may suffer
            log.error(  # noqa: TRY400 -- the reason is enough
                "a result could be written nowhere; its run is left to its lease",
                run=finished.lease.run_id,
                error=str(error),
            )

    async def recover(self) -> None:
        """Hand over what an earlier process could not write before it ended."""
        for path, finished in self._spool.read():
            log.warning("writing a result of an earlier process", run=finished.lease.run_id)
            await self._queue.finish([finished])
            path.unlink()

    async def _write(self, batch: list[FinishedRun]) -> bool:
        try:
            written = await self._queue.finish(batch)
        except DatabaseUnavailableError as error:
            log.warning("results wait for the database", waiting=len(batch), error=error.message)
            return False
        except psycopg.Error:
            return await self._write_singly(batch)
        self._done(batch, written)
        return True

    async def _write_singly(self, batch: list[FinishedRun]) -> bool:
        """One result that the database refuses may not hold up the others."""
        for finished in batch:
            try:
                self._done([finished], await self._write_one(finished))
            except (DatabaseUnavailableError, psycopg.Error) as error:
                run = finished.lease.run_id
                log.warning("a result waits for the database", run=run, error=str(error).strip())
                return False
        return True

    async def _write_one(self, finished: FinishedRun) -> set[int]:
        try:
            return await self._queue.finish([finished])
        except psycopg.DataError as error:
            log.exception("the database refuses a result", run=finished.lease.run_id)
            return await self._queue.finish([without_result(finished, error)])

    def _done(self, batch: list[FinishedRun], written: set[int]) -> None:
        ids = {finished.lease.run_id for finished in batch}
        self._pending = [f for f in self._pending if f.lease.run_id not in ids]
        for finished in batch:
            self._on_recorded(finished, finished.lease.run_id in written)


def without_result(finished: FinishedRun, error: psycopg.Error) -> FinishedRun:
    """The end of a run whose result the database refused to store."""
    outcome = Outcome(
        RunStatus.FAILED,
        "RESULT_NOT_STORED",
        f"the run ended as {finished.outcome.status.value}, but the database refused its result "
        f"(SQLSTATE {error.sqlstate})",
        FailureClass.PERMANENT,
    )
    return FinishedRun(finished.lease, outcome, no_retry_reason="the work itself was done")
