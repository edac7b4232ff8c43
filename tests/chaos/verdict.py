"""What a campaign came to, counted; the rules are pure, so that a test can show that they see."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import NamedTuple

from tests.chaos.evidence import Span, doubles, most_at_once

Trouble = tuple[datetime, datetime]
"""From when to when the database could not be written."""


@dataclass(frozen=True)
class RunFact:
    """A run as the contestant's tables tell it in the end.

    ``vouched_at`` is the last sign of life of a run that was taken from a lost server.
    """

    id: int
    job: str
    slot: datetime | None
    status: str
    final: bool
    token: str
    by_agent: bool = False
    vouched_at: datetime | None = None
    rescued_at: datetime | None = None


@dataclass(frozen=True)
class Facts:
    """All that is known at the end of a campaign.

    ``planned`` are the occurrences of the schedules' grids, ``explained`` those that the contestant
    says it left out, and why. ``changed`` counts final runs that were found changed or gone.
    """

    planned: frozenset[tuple[str, datetime]]
    explained: frozenset[tuple[str, datetime]]
    runs: Sequence[RunFact]
    spans: Sequence[Span]
    changed: int
    troubles: Sequence[Trouble]
    group: frozenset[str]
    faults: Mapping[str, int]
    gave_up: int


@dataclass(frozen=True)
class Verdict:
    """The numbers of the table; all but the first five and the rescues should be 0."""

    faults: int
    planned: int
    explained: int
    runs: int
    by_agents: int
    doubles: int
    lost: int
    changed: int
    left: int
    hollow: int
    most_of_group: int
    gave_up: int
    rescues: tuple[float, ...]

    @property
    def longest_rescue(self) -> float:
        """Seconds from the last sign of life to the release, at most; 0.0 without any."""
        return max(self.rescues, default=0.0)

    def clean(self, group_limit: int, rescue_limit: float) -> bool:
        """Whether nothing went wrong."""
        wrong = self.doubles + self.lost + self.changed + self.left + self.hollow + self.gave_up
        in_time = self.longest_rescue <= rescue_limit
        return wrong == 0 and self.most_of_group <= group_limit and in_time

    def rows(self) -> list[tuple[str, str]]:
        """The table's rows."""
        rescue = "–"
        if self.rescues:
            middle = median(self.rescues)
            rescue = f"{len(self.rescues)}: max {self.longest_rescue:.1f}, median {middle:.1f}"
        return [
            ("faults", str(self.faults)),
            ("occurrences planned", str(self.planned)),
            ("  without a run, with a reason", str(self.explained)),
            ("runs", str(self.runs)),
            ("  carried out by agents", str(self.by_agents)),
            ("double executions", str(self.doubles)),
            ("lost occurrences", str(self.lost)),
            ("final states that changed", str(self.changed)),
            ("runs left active", str(self.left)),
            ("successes without an end", str(self.hollow)),
            ("most of the group of 2 at once", str(self.most_of_group)),
            ("servers that gave up", str(self.gave_up)),
            ("rescues, in seconds", rescue),
        ]


def judge(facts: Facts) -> Verdict:
    """Count."""
    having_run = {(run.job, run.slot) for run in facts.runs}
    ended = {span.token for span in facts.spans if span.ended}
    return Verdict(
        faults=sum(facts.faults.values()),
        planned=len(facts.planned),
        explained=len(facts.planned & facts.explained - having_run),
        runs=len(facts.runs),
        by_agents=sum(run.by_agent and run.status == "succeeded" for run in facts.runs),
        doubles=doubles(facts.spans),
        lost=len(facts.planned - having_run - facts.explained),
        changed=facts.changed,
        left=sum(not run.final for run in facts.runs),
        hollow=sum(run.status == "succeeded" and run.token not in ended for run in facts.runs),
        most_of_group=most_at_once(facts.spans, facts.group),
        gave_up=facts.gave_up,
        rescues=tuple(rescue_times(facts.runs, facts.troubles)),
    )


def rescue_times(runs: Iterable[RunFact], troubles: Iterable[Trouble]) -> list[float]:
    """Seconds from the last sign of life, or the end of a trouble since then, to the release."""
    return [rescue.seconds for rescue in _rescues(runs, tuple(troubles))]


def late_rescues(facts: Facts, limit: float, began: datetime) -> list[str]:
    """A line for each rescue that took longer than ``limit`` seconds, in the campaign's time."""
    return [
        f"rescue of run {rescue.run.id} ({rescue.run.job}): {rescue.seconds:.1f} s,"
        f" from {(rescue.since - began).total_seconds():.1f} s on"
        for rescue in _rescues(facts.runs, facts.troubles)
        if rescue.seconds > limit
    ]


class _Rescue(NamedTuple):
    run: RunFact
    since: datetime
    seconds: float


def _rescues(runs: Iterable[RunFact], troubles: Sequence[Trouble]) -> Iterator[_Rescue]:
    for run in runs:
        if run.rescued_at is not None and run.vouched_at is not None:
            since = _rescuable(run.vouched_at, run.rescued_at, troubles)
            yield _Rescue(run, since, (run.rescued_at - since).total_seconds())


def _rescuable(vouched: datetime, rescued: datetime, troubles: Sequence[Trouble]) -> datetime:
    return max([vouched, *(end for begin, end in troubles if begin < rescued and vouched < end)])


def table(verdicts: Mapping[str, Verdict]) -> str:
    """The verdicts side by side."""
    columns = [[label for label, _ in next(iter(verdicts.values())).rows()]]
    columns += [[value for _, value in verdict.rows()] for verdict in verdicts.values()]
    heads = ["", *verdicts]
    widths = [
        max(len(head), *map(len, column)) for head, column in zip(heads, columns, strict=True)
    ]
    lines = [heads, *zip(*columns, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
