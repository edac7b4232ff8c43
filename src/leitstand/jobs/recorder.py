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
        """Write until cancelled; begins with what an attempt before this one has left."""
        pause = 0.1
        self._wake.set()
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
        except (OSError, TypeError, ValueError) as error:
            # Such as a full disk: neither the others nor the way out may suffer.
            log.error(  # noqa: TRY400 -- the reason is enough
                "a result could be written nowhere; its run is left to its lease",
                run=finished.lease.run_id,
                error=str(error),
            )

    async def recover(self) -> None:
        """Hand over what an earlier process could not write before it ended."""
        for path, finished in self._spool.read():
            log.warning("writing a result of an earlier process", run=finished.lease.run_id)
            try:
                await self._write_one(finished)
            except psycopg.Error:  # the others may not wait for it at each start
                log.exception("a kept result cannot be written", file=path)
            else:
                path.unlink()

    async def _write(self, batch: list[FinishedRun]) -> bool:
        try:
            written = await self._queue.finish(batch)
        except DatabaseUnavailableError as error:
            log.warning("results wait for the database", waiting=len(batch), error=error.message)
            return False
        except Exception:  # one of them, whatever is wrong with it
            return await self._write_singly(batch)
        self._done(batch, written)
        return True

    async def _write_singly(self, batch: list[FinishedRun]) -> bool:
        """One result that cannot be written may not hold up the others."""
        complete = True
        for finished in batch:
            run = finished.lease.run_id
            try:
                self._done([finished], await self._write_one(finished))
            except DatabaseUnavailableError as error:
                log.warning("a result waits for the database", run=run, error=error.message)
                return False
            except Exception:  # it is tried again, and never forgotten
                log.exception("a result cannot be written", run=run)
                complete = False
        return complete

    async def _write_one(self, finished: FinishedRun) -> set[int]:
        try:
            return await self._queue.finish([finished])
        except (psycopg.DataError, TypeError, ValueError) as error:
            log.exception("a result cannot be stored", run=finished.lease.run_id)
            return await self._queue.finish([without_result(finished, error)])

    def _done(self, batch: list[FinishedRun], written: set[int]) -> None:
        ids = {finished.lease.run_id for finished in batch}
        self._pending = [f for f in self._pending if f.lease.run_id not in ids]
        for finished in batch:
            self._on_recorded(finished, finished.lease.run_id in written)


def without_result(finished: FinishedRun, error: Exception) -> FinishedRun:
    """The end of a run whose result cannot be stored: refused by the database, or no JSON."""
    why = str(error)
    if isinstance(error, psycopg.Error):
        why = f"the database refused its result (SQLSTATE {error.sqlstate})"
    outcome = Outcome(
        RunStatus.FAILED,
        "RESULT_NOT_STORED",
        f"the run ended as {finished.outcome.status.value}, but {why}",
        FailureClass.PERMANENT,
    )
    return FinishedRun(finished.lease, outcome, no_retry_reason="the work itself was done")
