"""Reads a rotating sample of objects in full and compares their SHA-256 with the database's.

An object is marked as checked only after it was, so a run that is killed leaves nothing wrong: what
it had not marked is still the most urgent. Nothing is ever repaired.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from leitstand.archive.integrity.choice import AllThatAreDue, Choice, MostUrgent
from leitstand.archive.integrity.hashed import Handful, Hashed, hash_object
from leitstand.archive.integrity.hashing import Hashing
from leitstand.archive.integrity.quota import LARGEST, Quota
from leitstand.archive.integrity.revision import CountableRevisions, Revision, Revisions
from leitstand.archive.integrity.sample import Cooldown
from leitstand.archive.integrity.scrub_ledger import MarkResult, Marks, ScrubLedger, Today
from leitstand.archive.integrity.scrubbing import Coverage, Scrubbing, ScrubFinding
from leitstand.archive.integrity.store import Store
from leitstand.archive.integrity.survey import Survey, survey_objects
from leitstand.archive.integrity.work_list import WorkList
from leitstand.collecting import collecting_seldom

MARKS = 2_000
"""Outcomes that are noted at once: what a killed run would have to read again."""

Report = Callable[[int, int], None]
"""Called with how many of how many objects were read, once it is known how many there will be."""


@dataclass(frozen=True)
class ScrubOptions:
    """How to scrub; ``max_rate`` in bytes a second, ``within`` for what the coverage counts."""

    quota: Quota
    cooldown: timedelta = timedelta(days=1)
    max_rate: float | None = None
    threads: int = 2
    within: timedelta = timedelta(days=30)


async def scrub(
    table: CountableRevisions,
    store: Store,
    ledger: ScrubLedger,
    options: ScrubOptions,
    report: Report = lambda *_: None,
) -> Scrubbing:
    """Sample, read, note, and report; reading begins before all are seen where all are read.

    Two at a time on one store may read the same object, but note and count it once. Raises what
    reading the table and the control database raise; an object that cannot be read is a finding.
    """
    began, sampled_at = time.monotonic(), await ledger.now()
    today = await ledger.today(sampled_at)
    rows, work = await table.count(LARGEST + 1), WorkList()
    choice = _choice(options, Cooldown(options.cooldown, sampled_at), rows, today, work)
    run = _Run(table, store, ledger, sampled_at)
    hashers, budget = min(options.threads, max(1, rows)), options.quota.bytes_left(today.bytes)
    with Hashing(store, work, hashers, options.max_rate, budget) as hashing:
        async with _surveying(table, ledger, choice, work) as surveying:
            while (handful := await asyncio.to_thread(hashing.next)) is not None:
                await run.take_in(handful)
                if work.total is not None:
                    report(run.result.sampled, work.total)
            survey = await surveying
        run.result.bytes_read = hashing.bytes_read
    await run.note()
    return await _finished(run.result, survey, ledger, options, began)


def _choice(
    options: ScrubOptions, cooldown: Cooldown, rows: int, today: Today, work: WorkList
) -> Choice:
    quota = options.quota
    if quota.takes_all(rows, today.objects):
        return AllThatAreDue(work, cooldown, quota.most)
    size = partial(quota.objects, checked_today=today.objects)
    return MostUrgent(work, cooldown, quota.most, size, by_key=quota.daily_bytes is None)


@asynccontextmanager
async def _surveying(
    table: Revisions, ledger: ScrubLedger, choice: Choice, work: WorkList
) -> AsyncIterator[asyncio.Task[Survey]]:
    """A survey beside what is done in the context; it ends with it. If it fails, so does the list.

    What it raises is for whoever waits for it.
    """

    async def survey() -> Survey:
        try:
            with collecting_seldom():
                return await survey_objects(table, ledger, choice)
        except BaseException:
            work.drop()
            raise

    task = asyncio.create_task(survey())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _finished(
    result: Scrubbing, survey: Survey, ledger: ScrubLedger, options: ScrubOptions, began: float
) -> Scrubbing:
    now = await ledger.now()
    seen = await ledger.seen(now - options.within)
    result.findings.sort(key=lambda finding: finding.revision.storage_key)
    result.coverage = Coverage(survey.checkable, survey.uncheckable, options.within, seen, now)
    result.generated_at = now
    result.duration = time.monotonic() - began
    return result


class _Run:
    def __init__(
        self, table: Revisions, store: Store, ledger: ScrubLedger, sampled_at: datetime
    ) -> None:
        self.result = Scrubbing(store.name)
        self._table, self._store, self._ledger = table, store, ledger
        self._sampled_at = sampled_at
        self._marks = Marks()

    async def take_in(self, handful: Handful) -> None:
        """Note what is right, look again at what seems wrong, and note that, too, in batches."""
        self.result.sampled += len(handful.right)
        self._marks.add_right([each.storage_key for each in handful.right], handful.sizes)
        if suspects := handful.wrong:
            rows = await self._table.find([each.revision.storage_key for each in suspects])
            for suspect in suspects:
                await self._judge(suspect, rows.get(suspect.revision.storage_key, []))
        if len(self._marks) >= MARKS:
            await self.note()

    async def note(self) -> None:
        """Write the outcomes since the last time."""
        if self._marks:
            await self._ledger.mark(self._marks, self._sampled_at)
            self._marks = Marks()

    async def _judge(self, suspect: Hashed, rows: list[Revision]) -> None:
        """What reading again says, beside the rows as they are now."""
        if not rows:
            self.result.skipped += 1
            return
        again = await asyncio.to_thread(hash_object, self._store, rows[0])
        if again.missing:
            self.result.missing += 1
            self._marks.add(suspect.revision.storage_key, MarkResult.MISSING, 0)
            return
        wrong = [row for row in rows if row.checksum and row.checksum != again.actual]
        if not wrong:  # object and row were replaced while the first reading went on
            self._mark(again, MarkResult.OK)
            return
        self.result.findings.append(ScrubFinding(wrong[0], again.actual, again.error))
        self._mark(again, MarkResult.FAILED)

    def _mark(self, hashed: Hashed, result: MarkResult) -> None:
        self.result.sampled += 1
        self._marks.add(hashed.revision.storage_key, result, hashed.size)
