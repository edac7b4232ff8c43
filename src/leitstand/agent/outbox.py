"""Delivers what runs say and how they ended: once, however often it takes, and over restarts."""

import asyncio
import random

import structlog

from leitstand.agent.client import RefusedError, RejectedError, ServerClient
from leitstand.agent.outgoing_log import OutgoingLog
from leitstand.agent_protocol import Delivery, Received, Recorded, Reports
from leitstand.errors import UnavailableError
from leitstand.execution import DocumentSpool, Lease

log = structlog.get_logger(__name__)

INTERVAL = 1.0
"""Seconds between two reports: how far what is shown may lag behind."""

DEADLINE = 15.0
"""Seconds that a server has to take a report or a result."""

LONGEST_PAUSE = 30.0
"""Seconds at most between two attempts while no server answers."""


class Outbox:
    """What is on its way to the servers.

    Results go to ``spool`` as soon as they cannot be delivered at once, and stay there until they
    are: the next process finds what this one could not deliver.
    """

    def __init__(self, client: ServerClient, spool: DocumentSpool) -> None:
        self._client = client
        self._spool = spool
        self._logs: dict[int, OutgoingLog] = {}

    def open(self, lease: Lease) -> OutgoingLog:
        """The Reporter for a run that begins."""
        outgoing = self._logs[lease.run_id] = OutgoingLog(lease)
        return outgoing

    def close(self, lease: Lease) -> OutgoingLog:
        """The run has ended; what is left of its log goes with the result."""
        return self._logs.pop(lease.run_id)

    async def report(self, instance: str) -> None:
        """Send what the runs say, once a second, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                while await self._report_once(instance):
                    pass
            except (UnavailableError, RejectedError) as error:
                log.warning("reports wait for a server", error=error.message)

    async def _report_once(self, instance: str) -> bool:
        """Send a piece of each log; whether there is more."""
        logs = dict(self._logs)
        reports = tuple(report for out in logs.values() if (report := out.next_report()))
        if not reports:
            return False
        body = Reports(instance=instance, reports=reports)
        received = await self._client.ask("reports", body, Received, DEADLINE)
        for run_id, position in received.positions.items():
            if run_id in logs:
                logs[run_id].confirm(position)
        return any(out.more for run_id, out in logs.items() if run_id in received.positions)

    async def deliver(self, delivery: Delivery) -> bool:
        """Deliver a result, for as long as it takes; cancelled, it is on disk.

        Returns whether the servers took it. Raises RefusedError, with the result on disk, when
        they do not know this agent any more.
        """
        pause = 0.1
        try:
            while (taken := await self._delivered(delivery)) is None:
                await asyncio.to_thread(self._keep, delivery)
                await asyncio.sleep(pause * (1 + random.random()))  # noqa: S311 -- jitter
                pause = min(2 * pause, LONGEST_PAUSE)
        except (asyncio.CancelledError, RefusedError):
            self._keep(delivery)
            raise
        await asyncio.to_thread(self._spool.drop, delivery.claim.lease)
        return taken

    async def recover(self) -> None:
        """Deliver what earlier processes and lives could not, one after the other.

        Only before new runs have ended: what they keep on disk they deliver themselves.
        """
        for path, document in await asyncio.to_thread(lambda: list(self._spool.read())):
            try:
                delivery = Delivery.model_validate(document)
            except ValueError as error:
                log.error("a kept result is unreadable", file=path, error=str(error))  # noqa: TRY400 -- the file is the story
                continue
            log.warning("delivering a kept result", run=delivery.claim.run)
            await self.deliver(delivery)

    async def _delivered(self, delivery: Delivery) -> bool | None:
        """Whether the servers took it; None when none of them could say."""
        run = delivery.claim.run
        try:
            answer = await self._client.ask("result", delivery, Recorded, DEADLINE)
        except UnavailableError as error:
            log.warning("a result waits for a server", run=run, error=error.message)
            return None
        except RejectedError as error:
            log.error("the servers do not take a result", run=run, error=error.message)  # noqa: TRY400 -- the reason is enough
            return False
        if not answer.recorded:
            log.warning("lost lease: the result is kept beside its run", run=run)
        return True

    def _keep(self, delivery: Delivery) -> None:
        try:
            self._spool.keep(delivery.claim.lease, delivery.model_dump(mode="json"))
        except OSError as error:  # a full disk may not cost the result that is still in memory
            log.error(  # noqa: TRY400 -- the reason is enough
                "a result could not be kept on disk", run=delivery.claim.run, error=str(error)
            )
