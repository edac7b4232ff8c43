"""Reconciles a table of revisions with an object store: do the keys match? Reads only.

Both are read side by side in byte order of the keys, so memory does not grow with their number.
They change meanwhile, so what looks like a finding is looked at again before it is called one.
"""

from bisect import bisect_left
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from leitstand.archive.integrity.comparison import Comparison
from leitstand.archive.integrity.finding_list import FindingList
from leitstand.archive.integrity.pairing import Pair, paired
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.revision import Revision, Revisions
from leitstand.archive.integrity.second_look import SecondLook, Verdicts
from leitstand.archive.integrity.storage_key import spellings
from leitstand.archive.integrity.store import Listing, Store

WINDOW = 20_000
"""Keys after which suspects are looked at again, all those of the window at once."""

SUSPECTS = 500
"""Suspects after which they are looked at again."""

SPELLED = 100
"""Missing objects for which other spellings of the key are tried."""

Report = Callable[[int], None]
"""Called with how many keys have been compared."""


@dataclass(frozen=True)
class ReconcileOptions:
    """How to reconcile: seconds of grace, entries of a list in memory, where longer lists go.

    ``existing`` lists what is in both; otherwise that is only counted. With ``directory`` None
    nothing is written to files.
    """

    grace: float = 5.0
    limit: int = 10_000
    directory: Path | None = None
    existing: bool = True


@dataclass(frozen=True)
class _Compared:
    """A pair with the keys that were in one listing only."""

    pair: Pair
    missing: list[bytes]
    orphaned: list[bytes]


@dataclass
class _Window:
    """What was compared since the last second look."""

    parts: list[_Compared] = field(default_factory=list)
    keys: int = 0
    suspects: int = 0

    def add(self, part: _Compared) -> None:
        self.parts.append(part)
        self.keys += len(part.pair.page.keys) + len(part.orphaned)
        self.suspects += len(part.missing) + len(part.orphaned)

    @property
    def is_full(self) -> bool:
        return self.keys >= WINDOW or self.suspects >= SUSPECTS


async def reconcile(
    table: Revisions,
    store: Store,
    options: ReconcileOptions,
    report: Report = lambda _: None,
) -> Reconciliation:
    """Compare all keys.

    Raises KeyOrderError, StoreUnreachableError and what reading the table raises. Directories that
    cannot be read raise nothing: their keys get no verdict, and the result is incomplete.
    """
    run = _Run(table, store, options, report)
    try:
        await run.compare_all()
        return await run.result()
    except BaseException:
        run.discard()
        raise


class _Run:
    def __init__(
        self, table: Revisions, store: Store, options: ReconcileOptions, report: Report
    ) -> None:
        self._table, self._store, self._options, self._report = table, store, options, report
        self._began = datetime.now(UTC)
        self._listing: Listing = store.listing()
        self._second = SecondLook(table, store, self._listing.notes, options.grace)
        self._unknown = 0
        self._compared = 0
        limit, directory = options.limit, options.directory
        self._missing = FindingList("missing_in_storage", limit, directory)
        self._orphaned = FindingList("orphaned_in_storage", limit, directory)
        self._existing = FindingList("existing_in_storage", limit, directory)

    async def compare_all(self) -> None:
        """Both listings to their ends."""
        comparison = Comparison("the table of revisions", "the listing of the store")
        window = _Window()
        async with aclosing(self._table.pages()) as pages, aclosing(self._listing.pages()) as keys:
            async for pair in paired(pages, keys):
                window.add(_Compared(pair, *comparison.compare(pair.page.keys, pair.objects)))
                if window.is_full:
                    await self._settle(window)
                    window = _Window()
        await self._settle(window)

    async def _settle(self, window: _Window) -> None:
        """Look again at what looks like a finding, and put everything in its list."""
        verdicts = await self._second.judge(
            [key for part in window.parts for key in part.missing],
            [key for part in window.parts for key in part.orphaned],
        )
        self._unknown += verdicts.unknown
        for part in window.parts:
            self._take_in(part, verdicts)
        self._compared += window.keys
        self._report(self._compared)

    def _take_in(self, part: _Compared, verdicts: Verdicts) -> None:
        page = part.pair.page
        out = {key for key in part.missing if key in verdicts.missing or key in verdicts.gone}
        new = [verdicts.appeared[key] for key in part.orphaned if key in verdicts.appeared]
        self._missing.add(
            page.revisions[bisect_left(page.keys, key)]
            for key in part.missing
            if key in verdicts.missing
        )
        self._orphaned.add(
            Revision(key, None, None) for key in part.orphaned if key in verdicts.orphaned
        )
        if not self._options.existing:
            self._existing.add_count(len(page.keys) - len(out) + len(new))
        elif out or new:
            kept = [row for row in page.revisions if row.storage_key not in out]
            self._existing.add(sorted(kept + new, key=lambda row: row.storage_key))
        else:
            self._existing.add(page.revisions)

    async def result(self) -> Reconciliation:
        """What came out; the files have their names now."""
        await self._note_spellings()
        lists = (self._missing, self._orphaned, self._existing)
        for each in lists:
            each.close()
        now = datetime.now(UTC)
        return Reconciliation(
            generated_at=now,
            store=self._store.name,
            duration=(now - self._began).total_seconds(),
            missing=self._missing,
            orphaned=self._orphaned,
            existing=self._existing,
            unknown=self._unknown,
            notes=self._listing.notes,
        )

    async def _note_spellings(self) -> None:
        """Where an object is missing and one of another case or Unicode form is there, say so."""
        other = {
            spelling: row.storage_key
            for row in self._missing.first[:SPELLED]
            for spelling in spellings(row.storage_key)
        }
        if not other:
            return
        for spelling, facts in (await self._store.look(list(other))).items():
            if facts is not None:
                self._listing.notes.add_collision(sorted([other[spelling], spelling]))

    def discard(self) -> None:
        """Leave no unfinished file."""
        for each in (self._missing, self._orphaned, self._existing):
            each.discard()
