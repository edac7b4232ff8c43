"""Which snapshots to keep and which to remove, with the reason for each; pure.

One policy for the whole repository, decided here and not by restic, which would keep so many of
each combination of host and paths. Only complete snapshots count: a partial one takes no place and
pushes none out. Whatever the number says, the newest that is proven stays.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from leitstand.archive.objects.listing import ListedSnapshot, SnapshotState
from leitstand.archive.objects.snapshot import SHOWN
from leitstand.archive.postgres.retention import RetentionError
from leitstand.errors import ConflictError

TOLERANCE = timedelta(minutes=5)
"""How far clocks of machines that write into one repository may be apart."""


class FutureSnapshotError(ConflictError):
    """A snapshot is dated in the future and would stay the newest for ever; nothing is removed."""

    code = "OBJECT_SNAPSHOT_IN_FUTURE"


@dataclass(frozen=True)
class SnapshotDecision:
    """What becomes of one snapshot, and why; the reasons are sentences without a full stop."""

    id: str
    keep: bool
    reasons: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The decision's JSON shape."""
        return {"snapshot_id": self.id, "keep": self.keep, "reasons": list(self.reasons)}


def plan_rotation(
    snapshots: Sequence[ListedSnapshot], keep: int, now: datetime
) -> tuple[SnapshotDecision, ...]:
    """Decide about all snapshots that are there, the oldest first; a negative ``keep`` is 0.

    Raises FutureSnapshotError, and RetentionError rather than to leave no complete one.
    """
    present = [each for each in snapshots if each.state is not SnapshotState.MISSING]
    _refuse_future(present, now)
    reasons = _reasons(present, max(keep, 0))
    complete = [each for each in present if each.counts]
    if complete and not reasons:
        raise RetentionError(
            "the retention policy would remove every complete snapshot",
            remedy="Keep at least one, or prove one first: leitstand drill run --kind objects",
        )
    oldest_kept = min((each.taken_at for each in complete if each.id in reasons), default=None)
    return tuple(_decide(each, reasons.get(each.id), oldest_kept) for each in present)


def _refuse_future(present: Sequence[ListedSnapshot], now: datetime) -> None:
    late = [each for each in present if each.taken_at > now + TOLERANCE]
    if late:
        named = ", ".join(
            f"{each.id[:SHOWN]} ({each.taken_at:%Y-%m-%d %H:%M} UTC)" for each in late
        )
        raise FutureSnapshotError(
            f"nothing is removed, since snapshots are dated in the future: {named}",
            remedy="Look at the clock. If theirs was wrong: restic forget ID",
        )


def _reasons(present: Sequence[ListedSnapshot], keep: int) -> dict[str, list[str]]:
    """Why the complete snapshots that stay do so, by id."""
    newest_first = [each for each in reversed(present) if each.counts]
    reasons: dict[str, list[str]] = defaultdict(list)
    for number, each in enumerate(newest_first[:keep], 1):
        reasons[each.id].append(f"number {number} of the newest {keep}")
    verified = [each for each in newest_first if each.verified_at is not None]
    drilled = [each for each in newest_first if each.drilled_at is not None]
    for proven, what in ((verified, "that was read whole"), (drilled, "that passed a drill")):
        if proven:
            reasons[proven[0].id].append(f"the newest {what}")
    return reasons


def _decide(
    each: ListedSnapshot, reasons: list[str] | None, oldest_kept: datetime | None
) -> SnapshotDecision:
    if reasons is not None:
        return SnapshotDecision(each.id, keep=True, reasons=tuple(reasons))
    if each.counts:
        return SnapshotDecision(each.id, keep=False, reasons=("no rule keeps it",))
    if each.state is SnapshotState.FOREIGN:
        return SnapshotDecision(each.id, keep=True, reasons=("Leitstand did not take it",))
    if oldest_kept is None or each.taken_at > oldest_kept:
        reason = f"it is {each.state} and does not count; it goes with the snapshots of its time"
        return SnapshotDecision(each.id, keep=True, reasons=(reason,))
    reason = f"it is {each.state}, and every snapshot that counts and is kept is newer"
    return SnapshotDecision(each.id, keep=False, reasons=(reason,))
