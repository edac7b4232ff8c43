"""Reads settings through a cache that learns of changes elsewhere."""

import time
from collections import OrderedDict
from collections.abc import Callable

from leitstand.configuration.setting import GLOBAL, Setting
from leitstand.configuration.setting_ledger import SettingLedger

MOST = 10_000
"""Values that are remembered, missing ones among them."""


class CachedSettings:
    """What other domains read settings by; a value is at most ``lifetime`` seconds old.

    ``invalidate`` makes changes visible at once; who listens on ``CHANNEL`` calls it. Cached is the
    whole answer and never a version alone, since a restored database repeats versions.
    """

    def __init__(
        self,
        ledger: SettingLedger,
        lifetime: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._lifetime = lifetime
        self._clock = clock
        self._known: OrderedDict[tuple[str, str], tuple[float, Setting | None]] = OrderedDict()
        self._invalidations = 0

    async def get(self, key: str, scope: str = GLOBAL) -> Setting:
        """The value in exactly this scope; raises UnknownSettingError."""
        found = await self._find(key, scope)
        if found is None:
            raise await self._ledger.unknown(key, scope)
        return found

    async def resolve(self, key: str, tenant: str | None = None) -> Setting:
        """The tenant's value, or else the global one; raises UnknownSettingError."""
        own = await self._find(key, tenant) if tenant is not None else None
        found = own or await self._find(key, GLOBAL)
        if found is None:
            raise await self._ledger.unknown(key, tenant or GLOBAL)
        return found

    def invalidate(self, key: str | None = None) -> None:
        """Forget what is known of the key, in all scopes; None: of all keys."""
        self._invalidations += 1
        for place in [each for each in self._known if key in (None, each[0])]:
            del self._known[place]

    async def _find(self, key: str, scope: str) -> Setting | None:
        place = key, scope
        until, setting = self._known.get(place, (0.0, None))
        if self._clock() < until:
            return setting
        began, before = self._clock(), self._invalidations
        setting = await self._ledger.find(key, scope)
        if before == self._invalidations:  # what was read during a change may be the value before
            self._known[place] = began + self._lifetime, setting
            self._known.move_to_end(place)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return setting
