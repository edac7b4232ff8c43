"""Brings messages from the database to the clients of this server, whoever has published them."""

import asyncio
import time

import psycopg
import structlog

from leitstand.errors import LeitstandError
from leitstand.live.hub import Hub
from leitstand.live.message_ledger import CHANNEL, PAGE, MessageLedger
from leitstand.store.listener import Listener

log = structlog.get_logger(__name__)

LOOK_ANYWAY = 5.0
"""Seconds after which the table is looked at without a notification."""

UPKEEP = 60.0
"""Seconds between two times at which old messages are deleted and topics are said to be wanted."""


class Relay:
    """A duty of each server. While nobody listens it only keeps the table short."""

    def __init__(self, conninfo: str, ledger: MessageLedger, hub: Hub) -> None:
        self._ledger = ledger
        self._hub = hub
        self._wake = asyncio.Event()
        self._kept_up_at = 0.0
        self._listener = Listener(
            conninfo, [CHANNEL], lambda _, __: self._wake.set(), on_gap=self._wake.set
        )

    async def run(self) -> None:
        """Relay until cancelled."""
        listening = asyncio.create_task(self._listener.run())
        try:
            while True:
                await self._pass()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _pass(self) -> None:
        try:
            async with asyncio.timeout(LOOK_ANYWAY):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        try:
            await self.run_once()
            await self._keep_up()
        except (LeitstandError, psycopg.Error) as error:
            log.warning("messages wait for the database", error=str(error).strip())

    async def run_once(self) -> int:
        """Hand on all messages that there are; how many."""
        handed_on = 0
        while (position := self._hub.position) is not None:
            messages = await self._ledger.after(position)
            if self._hub.position == position:  # not, if all have left and others come meanwhile
                await self._hub.deliver(messages)
            handed_on += len(messages)
            if len(messages) < PAGE:
                break
        return handed_on

    async def _keep_up(self) -> None:
        if time.monotonic() - self._kept_up_at < UPKEEP:
            return
        self._kept_up_at = time.monotonic()
        await self._ledger.prune()
        await self._ledger.want(self._hub.topics)
