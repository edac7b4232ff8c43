"""Looks again at what seems missing or orphaned, in the order in which health cannot seem ill.

An application stores an object before it commits the row, and removes the row before the object:

- **missing** (a row was read, no object was listed): first the object, then the row. If the object
  is not there and the row still is, the row was there before and after.
- **orphaned** (an object was listed, no row was read): first the row, then the object. An object
  younger than the grace is given that time for its row to be committed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from leitstand.archive.integrity.revision import Revision, Revisions
from leitstand.archive.integrity.store import ListingNotes, Store


@dataclass(frozen=True)
class Verdicts:
    """What the second look said: suspects that are in none of these are in both by now.

    ``gone`` are rows that are no more, or about whose objects nothing can be known (``unknown`` of
    them); ``appeared`` the revisions of objects whose row has come since.
    """

    missing: frozenset[bytes]
    gone: frozenset[bytes]
    unknown: int
    orphaned: frozenset[bytes]
    appeared: dict[bytes, Revision]


class SecondLook:
    """Looks at suspects of one run; ``notes`` are those of its listing."""

    def __init__(self, table: Revisions, store: Store, notes: ListingNotes, grace: float) -> None:
        self._table, self._store, self._notes, self._grace = table, store, notes, grace

    async def judge(self, missing: Sequence[bytes], orphaned: Sequence[bytes]) -> Verdicts:
        """Tell findings from what changed meanwhile."""
        absent, unknown = await self._absent(missing)
        rows = await self._table.find(absent) if absent else {}
        without = set(absent) - rows.keys()
        orphans, appeared = await self._orphans(orphaned) if orphaned else (set(), {})
        return Verdicts(
            missing=frozenset(rows),
            gone=frozenset(unknown | without),
            unknown=len(unknown),
            orphaned=frozenset(orphans),
            appeared=appeared,
        )

    async def _absent(self, suspects: Sequence[bytes]) -> tuple[list[bytes], set[bytes]]:
        """Keys under which there is no object, and those of which nobody can tell."""
        unknown = {key for key in suspects if self._notes.is_unknown(key)}
        known = [key for key in suspects if key not in unknown]
        objects = await self._store.look(known) if known else {}
        unknown.update(key for key in known if key not in objects)
        return [key for key in known if key in objects and objects[key] is None], unknown

    async def _orphans(self, suspects: Sequence[bytes]) -> tuple[set[bytes], dict[bytes, Revision]]:
        await self._give_grace(suspects)
        rows = await self._table.find(suspects)
        objects = await self._store.look([key for key in suspects if key not in rows])
        orphans = {key for key, facts in objects.items() if facts is not None}
        return orphans, {key: found[0] for key, found in rows.items()}

    async def _give_grace(self, suspects: Sequence[bytes]) -> None:
        """Wait until none of the objects is younger than the grace; the next ones have aged, too.

        So a run is at most about the grace longer, however many young objects there are.
        """
        facts = (await self._store.look(suspects)).values()
        now = datetime.now(UTC)
        young = (min(each.modified_at, now) for each in facts if each is not None)
        ripe = max(young, default=now - timedelta(days=1)) + timedelta(seconds=self._grace)
        await asyncio.sleep(max(0.0, (ripe - now).total_seconds()))
