"""All windows that hold for given jobs: those that people wrote, and downtimes of their hosts."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import structlog

from leitstand.jobs.job import WindowPolicy
from leitstand.jobs.window import Affected, Window
from leitstand.jobs.window_ledger import WindowLedger
from leitstand.store.database import Connection

log = structlog.get_logger(__name__)

DOWNTIME_DEADLINE = 2.0
"""Seconds for the question about downtimes; jobs are locked meanwhile."""


class HostDowntimes(Protocol):
    """What a monitoring core says about hosts, as windows.

    When a downtime begins, is moved or ends early, ``look_again_at_postponed`` has to be called
    with its host, so that what waits for it learns of it.
    """

    async def windows_for(self, hosts: Collection[str]) -> Sequence[Window]:
        """The running downtimes of these hosts, and scheduled ones as far as they are known.

        Each is dated, has ``hosts`` set to the host that is in downtime, and a name that tells
        people which downtime it is. Whatever it raises counts as an answer of none.
        """


class NoDowntimes:
    """Nothing is monitored."""

    async def windows_for(self, hosts: Collection[str]) -> Sequence[Window]:
        """None."""
        return ()


class WindowSource:
    """Answers which windows matter to jobs at this moment."""

    def __init__(self, ledger: WindowLedger, downtimes: HostDowntimes) -> None:
        self._ledger = ledger
        self._downtimes = downtimes

    async def windows_for(
        self, jobs: Iterable[Affected], connection: Connection | None = None
    ) -> list[Window]:
        """The windows that concern any of ``jobs``; read in the caller's transaction, if given.

        Empty for jobs that no window can move. Downtimes that cannot be had are left out, with a
        warning: a job that runs during a downtime is better than one that runs no more.
        """
        movable = [job for job in jobs if job.window_policy is not WindowPolicy.RUN]
        if not movable:
            return []
        if connection is None:
            written = await self._ledger.list_all()
        else:
            written = await self._ledger.list_in(connection)
        hosts = {job.host for job in movable if job.host is not None}
        return [*written, *(await self._downtimes_of(hosts))]

    async def _downtimes_of(self, hosts: Collection[str]) -> Sequence[Window]:
        if not hosts:
            return ()
        try:
            async with asyncio.timeout(DOWNTIME_DEADLINE):
                return await self._downtimes.windows_for(hosts)
        except Exception as error:
            log.warning("downtimes are unknown", hosts=sorted(hosts), error=str(error).strip())
            return ()
