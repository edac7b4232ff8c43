"""What jobs themselves say about when they ran: measured from outside, not from our own tables.

All of them append to one file. Its order is the truth, so that no clock is needed: two executions
overlap when a line of one stands between two lines of the other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

SIGNS = 10
PAUSE = 0.1


def witness(evidence: Path, work: str = ":") -> str:
    """A shell script that says when it begins, that it is alive, and when it ends."""
    return (
        f"exec 3>>{evidence};"
        ' say() { echo "$1 $LEITSTAND_JOB $LEITSTAND_RUN_ID $LEITSTAND_FENCING_TOKEN" >&3; };'
        f" say begin; for sign in $(seq {SIGNS}); do sleep {PAUSE}; say alive; done;"
        f" {work}; say end"
    )


@dataclass(frozen=True)
class Span:
    """One execution: the numbers of its first and its last line, and whether it came to its end."""

    job: str
    token: str
    first: int
    last: int
    ended: bool

    def overlaps(self, other: "Span") -> bool:
        """Whether both were alive at some moment."""
        return self.first < other.last and other.first < self.last


def spans(lines: Iterable[str]) -> list[Span]:
    """The executions that the lines ``WHAT JOB RUN TOKEN`` tell of; a torn last line is ignored."""
    found: dict[tuple[str, str], Span] = {}
    for number, line in enumerate(lines):
        words = line.split()
        if len(words) != 4:
            continue
        what, job, _, token = words
        before = found.get((job, token))
        first = before.first if before else number
        found[job, token] = Span(job, token, first, number, what == "end")
    return list(found.values())


def doubles(executions: Sequence[Span]) -> int:
    """How many pairs of executions of the same job overlap."""
    by_job: dict[str, list[Span]] = defaultdict(list)
    for span in executions:
        by_job[span.job].append(span)
    return sum(a.overlaps(b) for some in by_job.values() for a, b in combinations(some, 2))


def most_at_once(executions: Iterable[Span], jobs: Iterable[str]) -> int:
    """How many executions of these jobs were alive together at most."""
    chosen = set(jobs)
    edges = [
        edge
        for span in executions
        if span.job in chosen
        for edge in ((span.first, 1), (span.last + 0.5, -1))
    ]
    most = now = 0
    for _, step in sorted(edges):
        now += step
        most = max(most, now)
    return most
