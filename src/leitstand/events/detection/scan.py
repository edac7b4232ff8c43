"""Reads one source once: what became of the gaps, then the rows that are new."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic

from leitstand.events.detection.evidence import Verdict
from leitstand.events.detection.gap import Gap, closed, single, union
from leitstand.events.detection.ledger import Advance, SourceState
from leitstand.events.detection.log_table import Detector, LogRow, LogTable
from leitstand.events.detection.own_events import expired_event, near_limit_event, reset_event
from leitstand.events.detection.progress import Progress
from leitstand.events.detection.reader import Reader
from leitstand.events.event import NewEvent

PAGE = 1_000
ROWS = 50_000
"""Rows that one run reads of a source at most."""

SECONDS = 20.0
"""Time that one run spends on the rows of a source, about."""

RANGES = 5_000
"""Gaps that one run looks into; of more, a random choice."""

LOOK_BACK = 1_000
"""Rows below a baseline among which those that are missing may still come."""

PRINTS = 8
"""Rows of which fingerprints are kept."""

NEAR_LIMIT = 0.9


@dataclass(frozen=True)
class Scan:
    """One reading of a source by the detectors that are listened to."""

    table: LogTable
    heard: Sequence[Detector]
    state: SourceState
    reader: Reader

    async def run(self) -> Advance:
        """What this reading comes to; nothing is written."""
        if self.state.highest is None:
            return await self._begin(self.state.epoch, None)
        reason = await self._why_reset()
        if reason is not None:
            return await self._begin(self.state.epoch + 1, reason)
        return await self._go_on()

    # -- a new beginning ----------------------------------------------------------------------

    async def _why_reset(self) -> str | None:
        """Why what is remembered of the source is of no use any more.

        What lies above the checkpoints has told nobody anything yet: it may go.
        """
        if self.state.identity != self.table.identity:
            return "the configuration names another table"
        highest, known = (
            await self.reader.highest(),
            max(self.state.checkpoints.values(), default=0),
        )
        if highest < known:
            return f"the highest row is {highest}, and has been {known}"
        mark = self.table.mark
        prints = {n: value for n, value in self.state.prints.items() if value.startswith(mark)}
        now = await self.reader.prints(list(prints))
        other = sum(prints[number] != value for number, value in now.items())
        if other * 2 > len(now):
            return f"{other} of the last rows are others under the same numbers"
        return None

    async def _begin(self, epoch: int, reason: str | None) -> Advance:
        """Take a baseline: what is there is old, and starts nothing."""
        rows = await self.reader.newest(LOOK_BACK)
        highest = rows[-1].id if rows else 0
        limit = await self.reader.id_limit()
        told = [] if reason is None else [reset_event(self.table.name, epoch, reason, self._tenant)]
        told += self._near_limit(highest, limit, warned=False)
        return Advance(
            identity=self.table.identity,
            epoch=epoch,
            highest=highest,
            id_limit=limit,
            warned=_is_near(highest, limit),
            prints={row.id: self.table.print_of(row) for row in rows[-PRINTS:]},
            checkpoints={detector.event: highest for detector in self.heard},
            gaps={detector.event: self._missing(rows) for detector in self.heard},
            emitted={},
            events=told,
            reset=reason,
            clock_skew=await self._clock_skew(),
        )

    def _missing(self, rows: Sequence[LogRow]) -> list[Gap]:
        """Ids that are missing among rows: transactions that work now may bring them."""
        if not self.reader.keeps_gaps:
            return []
        now = self.state.now
        pairs = pairwise(rows)
        return [Gap(a.id + 1, b.id - 1, now) for a, b in pairs if b.id > a.id + 1]

    # -- going on -----------------------------------------------------------------------------

    async def _go_on(self) -> Advance:
        progress = [
            Progress(
                detector,
                self.state.checkpoints[detector.event],
                list(self.state.gaps.get(detector.event, ())),
                self.reader.keeps_gaps,
            )
            for detector in self.heard
            if detector.event in self.state.checkpoints
        ]
        verdict = await self._look_into_gaps(progress)
        seen = await self._read_on(progress)
        fresh = await self._first_time([p.detector.event for p in progress])
        rows = await self.reader.newest(PRINTS)
        highest = max(seen, *(row.id for row in rows), *(p.checkpoint for p in progress), 0)
        limit = self.state.id_limit
        if _is_near(highest, limit):  # or was: somebody may have widened the column
            limit = await self.reader.id_limit()
        near = self._near_limit(highest, limit, warned=self.state.warned)
        expired = [
            expired_event(self.table.name, gap.first, gap.last, self._tenant)
            for gap in verdict.given_up
        ]
        return Advance(
            identity=self.table.identity,
            epoch=self.state.epoch,
            highest=highest,
            id_limit=limit,
            warned=_is_near(highest, limit),
            prints={row.id: self.table.print_of(row) for row in rows},
            checkpoints={**{p.detector.event: p.checkpoint for p in progress}, **fresh[0]},
            gaps={**{p.detector.event: p.gaps for p in progress}, **fresh[1]},
            emitted={p.detector.event: len(p.emitted) for p in progress},
            events=[*near, *expired, *self._events(progress)],
            late=sum(p.late for p in progress),
            dead=sum(len(gap) for gap in (*verdict.dead, *verdict.given_up)),
            late_of={p.detector.event: p.late for p in progress},
            dead_of={p.detector.event: p.dead for p in progress},
            clock_skew=await self._clock_skew(),
        )

    async def _look_into_gaps(self, progress: Sequence[Progress]) -> Verdict:
        """Take rows that came late, and close what will never be filled.

        The evidence is asked for first and the gaps are read in a later snapshot: what is missing
        there is not on its way to those who were asked.
        """
        gaps = union(gap for each in progress for gap in each.gaps)
        if len(gaps) > RANGES:
            chosen = random.sample(gaps, RANGES)  # not a secret
            gaps = sorted(chosen, key=lambda gap: gap.first)
        if not gaps:
            return Verdict([], [], [])
        holders = await self.reader.holders()
        rows, seen = await self.reader.rows_in(gaps, PAGE)
        for each in progress:
            each.fill(rows, self.state.now)
        missing = closed(seen, [single(row.id, self.state.now) for row in rows])
        verdict = await self.reader.judge(missing, holders, self.state.now)
        over = [*verdict.dead, *verdict.given_up]
        for each in progress:
            each.give_up(over, verdict.open)
        return verdict

    async def _read_on(self, progress: Sequence[Progress]) -> int:
        """Read rows above the checkpoints, in bounds; returns the highest id that was seen."""
        until, read, highest = monotonic() + SECONDS, 0, 0
        while read < ROWS and monotonic() < until:
            waiting = [each.checkpoint for each in progress if not each.stopped]
            if not waiting:
                break
            rows = await self.reader.page(max(highest, min(waiting)), PAGE)
            for row in rows:
                for each in progress:
                    each.offer(row, self.state.now)
            read += len(rows)
            highest = rows[-1].id if rows else highest
            if len(rows) < PAGE:
                break
        return highest

    async def _first_time(
        self, known: Sequence[str]
    ) -> tuple[Mapping[str, int], Mapping[str, list[Gap]]]:
        """Checkpoints and gaps of detectors that are listened to for the first time."""
        new = [detector.event for detector in self.heard if detector.event not in known]
        if not new:
            return {}, {}
        rows = await self.reader.newest(LOOK_BACK)
        highest = rows[-1].id if rows else 0
        return dict.fromkeys(new, highest), {event: self._missing(rows) for event in new}

    def _events(self, progress: Sequence[Progress]) -> list[NewEvent]:
        """One for each row and detector; each is stored once, whatever else fails."""
        return [
            NewEvent(
                each.detector.event,
                f"log:{self.table.name}",
                row.payload(),
                tenant=self._tenant,
                message_id=f"{self.state.epoch}:{each.detector.event}:{row.id}",
            )
            for each in progress
            for row in each.emitted
        ]

    # -- beside -------------------------------------------------------------------------------

    @property
    def _tenant(self) -> str:
        return self.table.tenant

    def _near_limit(self, highest: int, limit: int | None, *, warned: bool) -> list[NewEvent]:
        if warned or limit is None or not _is_near(highest, limit):
            return []
        return [near_limit_event(self.table.name, highest, limit, self._tenant)]

    async def _clock_skew(self) -> float | None:
        """Seconds by which the source's clock is ahead of the control database's, about."""
        clock = await self.reader.clock()
        if clock is None:
            return None
        return clock - self.state.now.timestamp()


def _is_near(highest: int, limit: int | None) -> bool:
    return limit is not None and highest >= NEAR_LIMIT * limit
