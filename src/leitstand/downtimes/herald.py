"""Announces what happened to downtimes, from the outbox beside the tables: nothing is left out."""

import asyncio

import structlog

from leitstand.downtimes.listeners import Announcer
from leitstand.downtimes.news import Waiting, forget_news, waiting_news
from leitstand.downtimes.target import Target
from leitstand.errors import LeitstandError

log = structlog.get_logger(__name__)

EVERY = 10.0
"""Seconds between two looks for what somebody left: a server that died, a command that was killed,
an attempt that failed."""

AT_ONCE = 20
"""Rows that are announced in one transaction."""


class Herald:
    """Hands the outbox to the announcer, the oldest first, and forgets what that has taken.

    Who dies in between has it announced again by the next one, with the same identities, by which
    the announcer knows it. So may several heralds, at the same time.
    """

    def __init__(self, target: Target, announcer: Announcer) -> None:
        self._target = target
        self._announcer = announcer

    async def run(self) -> None:
        """Look every 10 s, at once at the start, until cancelled."""
        while True:
            try:
                await self.run_once()
            except LeitstandError as error:
                log.warning("news of downtimes wait", error=error.message, detail=error.detail)
            await asyncio.sleep(EVERY)

    async def run_once(self) -> int:
        """Announce what waits; how many happenings that was.

        Raises what ``Target.transaction`` and the announcer raise; what was not announced, waits.
        """
        await self._target.prepare()
        announced, full = 0, True
        while full:
            rows = await self._oldest()
            await self._announce(rows)
            announced += sum(len(row.happenings) for row in rows)
            full = len(rows) == AT_ONCE
        return announced

    async def _oldest(self) -> list[Waiting]:
        async with self._target.transaction() as connection:
            return await waiting_news(connection, AT_ONCE)

    async def _announce(self, rows: list[Waiting]) -> None:
        if not rows:
            return
        await self._announcer.announce([one for row in rows for one in row.happenings])
        async with self._target.transaction() as connection:
            await forget_news(connection, [row.id for row in rows])
