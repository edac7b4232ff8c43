"""Answers whether a flag is on, from memory that is refreshed from the database."""

import asyncio
import time
from collections.abc import Callable, Mapping

import structlog

from leitstand.flags.evaluation import Evaluation
from leitstand.flags.flag import Flag
from leitstand.flags.flag_ledger import FlagLedger
from leitstand.flags.flag_memory import FlagMemory
from leitstand.flags.rollout import evaluate_known

log = structlog.get_logger(__name__)

PATIENCE = 1.0
"""Seconds that a question waits for the database before the last known answer is given."""

PAUSE = 1.0
"""Seconds until the database is asked again after it did not answer."""


class Flags:
    """All flags, at most ``lifetime`` seconds old while the database answers.

    Nothing here raises, whatever is away or asked: a flag that cannot be decided is off. All flags
    are read at once, by one question for everybody who waits, so that answers fit together and the
    last known state is whole.
    """

    def __init__(
        self,
        ledger: FlagLedger,
        memory: FlagMemory,
        lifetime: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._memory = memory
        self._lifetime = lifetime
        self._clock = clock
        self._known: Mapping[str, Flag] | None = None
        self._stale = True
        self._look_at = 0.0
        self._answered_at: float | None = None
        self._invalidations = 0
        self._refreshing: asyncio.Task[None] | None = None

    async def is_enabled(self, key: str, tenant: str | None = None) -> bool:
        """Whether the flag is on for the tenant; None asks whether it is on for all."""
        return (await self.evaluate(key, tenant)).value

    async def evaluate(self, key: str, tenant: str | None = None) -> Evaluation:
        """The same, with the reason."""
        await self._refresh()
        return self.last_known(key, tenant)

    async def keys(self) -> list[str] | None:
        """The keys of all flags, in order; None while nothing is known of any."""
        await self._refresh()
        return None if self._known is None else sorted(self._known)

    def last_known(self, key: str, tenant: str | None = None) -> Evaluation:
        """As ``evaluate``, at once and without asking the database, however old that is."""
        return evaluate_known(self._known, key, tenant, stale=self._stale)

    def invalidate(self) -> None:
        """Have the next question ask the database."""
        self._invalidations += 1
        self._look_at = 0.0

    async def age(self) -> float | None:
        """Seconds since the database last answered; None if it never did in this process."""
        await self._refresh()
        return None if self._answered_at is None else self._clock() - self._answered_at

    async def _refresh(self) -> None:
        if self._clock() < self._look_at:
            return
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._read())
        await asyncio.shield(self._refreshing)

    async def _read(self) -> None:
        began, before = self._clock(), self._invalidations
        try:
            async with asyncio.timeout(PATIENCE):
                flags = await self._ledger.list_all(PATIENCE)
        except Exception as error:  # the promise is to answer, whatever it is
            await self._fall_back(error)
        else:
            # What was read during a change may be the state before it.
            fresh = before == self._invalidations
            self._look_at = began + self._lifetime if fresh else 0.0
            self._answered_at = began
            await self._learn({flag.key: flag for flag in flags})
        finally:
            self._refreshing = None

    async def _learn(self, flags: Mapping[str, Flag]) -> None:
        changed = flags != self._known or self._stale
        self._known, self._stale = flags, False
        if changed:
            await asyncio.to_thread(self._memory.keep, flags.values())

    async def _fall_back(self, error: Exception) -> None:
        self._look_at = self._clock() + PAUSE
        self._stale = True
        if self._known is None:
            self._known = await asyncio.to_thread(self._memory.recall)
        log.warning("flags are answered as last known", error=str(error), known=bool(self._known))
