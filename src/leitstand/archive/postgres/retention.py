"""Which generations to keep and which to remove, with the reason for each; pure.

Only generations that are complete and have verified count; the others neither take a place nor push
one out. Where restore drills are on, the numbers are filled with those that passed one; besides,
the same numbers hold for all that verified, since a week's backups would go otherwise while they
wait for their drill. So an undrilled generation never pushes out a drilled one, and at most twice
as many stay as the numbers say.

Generations of different clusters (system identifiers) are never compared. Whatever the numbers say,
the newest one that verified stays, and where drills are on also the newest that passed one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leitstand.errors import LeitstandError


class RetentionError(LeitstandError):
    """The policy would remove everything; nothing is removed."""

    code = "RETENTION_KEEPS_NOTHING"


@dataclass(frozen=True)
class Policy:
    """How many generations to keep: the newest, and the newest of so many days, weeks and so on.

    Days, weeks (ISO), months and years are those of UTC, and only those that have a generation.
    Negative numbers count as 0. ``drills`` says whether restore drills are on.
    """

    keep: int = 7
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    drills: bool = False


@dataclass(frozen=True)
class Candidate:
    """A generation as retention sees it; ``proven``: complete and verified."""

    id: str
    system_identifier: str | None
    started_at: datetime | None
    proven: bool
    drilled: bool = False


@dataclass(frozen=True)
class Decision:
    """What becomes of one generation, and why; the reasons are sentences without a full stop."""

    id: str
    keep: bool
    reasons: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """The decision's JSON shape."""
        return {"generation": self.id, "keep": self.keep, "reasons": list(self.reasons)}


@dataclass(frozen=True)
class Plan:
    """All decisions, the oldest generation first."""

    decisions: tuple[Decision, ...] = field(default=())

    @property
    def kept(self) -> tuple[Decision, ...]:
        """Those that stay."""
        return tuple(decision for decision in self.decisions if decision.keep)

    @property
    def removed(self) -> tuple[Decision, ...]:
        """Those that go."""
        return tuple(decision for decision in self.decisions if not decision.keep)


def plan_retention(candidates: Iterable[Candidate], policy: Policy) -> Plan:
    """Decide about all ``candidates``; raises RetentionError rather than to keep nothing."""
    ordered = sorted(candidates, key=lambda candidate: candidate.id)
    lines: dict[str | None, list[Candidate]] = defaultdict(list)
    for candidate in ordered:
        lines[candidate.system_identifier].append(candidate)
    decided = {
        decision.id: decision
        for identifier, line in lines.items()
        for decision in _decide_line(identifier, line, policy)
    }
    plan = Plan(tuple(decided[candidate.id] for candidate in ordered))
    if ordered and not plan.kept:
        raise RetentionError(
            "the retention policy would remove every generation",
            remedy="Keep at least one, or take a backup that verifies first.",
        )
    return plan


def _decide_line(
    identifier: str | None, line: Sequence[Candidate], policy: Policy
) -> list[Decision]:
    if identifier is None:
        reason = "it has no readable record; look at it and remove it by hand"
        return [Decision(candidate.id, keep=True, reasons=(reason,)) for candidate in line]
    reasons = _reasons(line, policy)
    oldest_kept = min(reasons, default=None)
    return [_decide(candidate, reasons, oldest_kept) for candidate in line]


def _decide(
    candidate: Candidate, reasons: dict[str, list[str]], oldest_kept: str | None
) -> Decision:
    if candidate.id in reasons:
        return Decision(candidate.id, keep=True, reasons=tuple(reasons[candidate.id]))
    if candidate.proven:
        return Decision(candidate.id, keep=False, reasons=("no rule keeps it",))
    if oldest_kept is None:
        reason = "it is not proven, but no generation of this cluster is"
        return Decision(candidate.id, keep=True, reasons=(reason,))
    if candidate.id > oldest_kept:
        reason = "it is not proven and does not count; it goes with the generations of its time"
        return Decision(candidate.id, keep=True, reasons=(reason,))
    reason = "it is not proven, and every generation that is kept is newer"
    return Decision(candidate.id, keep=False, reasons=(reason,))


def _reasons(line: Sequence[Candidate], policy: Policy) -> dict[str, list[str]]:
    """Why the proven generations that stay do so, by id."""
    proven = [candidate for candidate in reversed(line) if candidate.proven]
    reasons: dict[str, list[str]] = defaultdict(list)
    if policy.drills:
        drilled = [candidate for candidate in proven if candidate.drilled]
        _count(drilled, policy, " that passed a drill", reasons)
    _count(proven, policy, "", reasons)
    _protect(proven, reasons, policy)
    return reasons


def _count(
    newest_first: Sequence[Candidate], policy: Policy, which: str, reasons: dict[str, list[str]]
) -> None:
    """Give the places of ``policy`` to ``newest_first``; ``which`` says whom that leaves out."""
    for number, candidate in enumerate(newest_first[: max(policy.keep, 0)], 1):
        reasons[candidate.id].append(f"number {number} of the newest {policy.keep}{which}")
    for count, what, period in (
        (policy.daily, "day", _day),
        (policy.weekly, "week", _week),
        (policy.monthly, "month", _month),
        (policy.yearly, "year", _year),
    ):
        for candidate, name in _newest_of_each(newest_first, count, period):
            reasons[candidate.id].append(f"the newest of the {what} {name}{which}")


def _protect(proven: Sequence[Candidate], reasons: dict[str, list[str]], policy: Policy) -> None:
    if proven:
        reasons[proven[0].id].append(f"the newest that verified, which always stays{_zero(policy)}")
    drilled = [candidate for candidate in proven if candidate.drilled]
    if policy.drills and drilled:
        reasons[drilled[0].id].append("the newest that passed a restore drill")


def _zero(policy: Policy) -> str:
    return f" (the number to keep is {policy.keep}, which counts as 0)" if policy.keep < 0 else ""


def _newest_of_each(
    newest_first: Sequence[Candidate], count: int, period: Callable[[datetime], str]
) -> list[tuple[Candidate, str]]:
    found: dict[str, Candidate] = {}
    for candidate in newest_first:
        if candidate.started_at is not None:
            found.setdefault(period(candidate.started_at.astimezone(UTC)), candidate)
    return [(candidate, name) for name, candidate in list(found.items())[: max(count, 0)]]


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _week(time: datetime) -> str:
    return f"{time:%G-W%V}"


def _month(time: datetime) -> str:
    return f"{time:%Y-%m}"


def _year(time: datetime) -> str:
    return f"{time:%Y}"
