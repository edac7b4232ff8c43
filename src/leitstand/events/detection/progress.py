"""How far one detector has come, and what a run makes of the rows that it is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from leitstand.events.detection.gap import Gap, closed, held_by, holds, single
from leitstand.events.detection.log_table import Detector, LogRow

RUN_LIMIT = 200
"""Events that a detector emits in one run at most."""


@dataclass
class Progress:
    """A detector within one run. ``keeps_gaps``: the database can show rows out of order."""

    detector: Detector
    checkpoint: int
    gaps: list[Gap]
    keeps_gaps: bool
    emitted: list[LogRow] = field(default_factory=list)
    late: int = 0
    dead: int = 0

    @property
    def stopped(self) -> bool:
        """Whether it has emitted all that one run may, and stays where it is."""
        return len(self.emitted) >= RUN_LIMIT

    def offer(self, row: LogRow, now: datetime) -> None:
        """Take the next row in the order of ids; rows below the checkpoint are not new to it."""
        if self.stopped or row.id <= self.checkpoint:
            return
        if self.keeps_gaps and row.id > self.checkpoint + 1:
            self.gaps.append(Gap(self.checkpoint + 1, row.id - 1, now))
        self.checkpoint = row.id
        if self.detector.matches(row):
            self.emitted.append(row)

    def fill(self, rows: Iterable[LogRow], now: datetime) -> None:
        """Take rows that came late, as many as the run's limit leaves room for."""
        come: list[Gap] = []
        for row in sorted(rows, key=lambda each: each.id):
            if holds(self.gaps, row.id):
                if self.detector.matches(row):
                    if self.stopped:
                        break
                    self.emitted.append(row)
                    self.late += 1
                come.append(single(row.id, now))
        self.gaps = closed(self.gaps, come)

    def give_up(self, dead: Iterable[Gap], judged: Sequence[Gap]) -> None:
        """Wait no longer for what is dead; note who may still bring the rest, as ``judged`` has it.

        All are disjoint and in order.
        """
        waited = sum(map(len, self.gaps))
        self.gaps = held_by(closed(self.gaps, dead), judged)
        self.dead += waited - sum(map(len, self.gaps))
