"""Which part of the data to read next, and since when all of it was read; pure.

Restic divides its packs by their ids into as many slices as asked for; what a random percentage
would have read, nobody could say afterwards.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from leitstand.archive.objects.object_ledger import RepositoryCheck


def next_slice(checks: Sequence[RepositoryCheck], slices: int) -> int:
    """The slice, 1 to ``slices``, that was never read or the longest ago; ties by number."""
    read = _last_read(checks, slices)
    never = [each for each in range(1, slices + 1) if each not in read]
    return never[0] if never else min(read, key=lambda each: (read[each].started_at, each))


def read_since(checks: Sequence[RepositoryCheck]) -> datetime | None:
    """The time from before which all data was read without a fault; None where some never was.

    What was in the repository then is proven: each slice was read later. Any division counts, and
    a fault counts until the slice in which it was is read without one.
    """
    divisions = {check.slices for check in checks if check.slices is not None}
    covered = [_covered(_last_read(checks, slices), slices) for slices in divisions]
    return max((time for time in covered if time is not None), default=None)


def intact_since(checks: Iterable[RepositoryCheck]) -> datetime | None:
    """When the newest check, of whatever sort, began, if it found nothing; checks newest first."""
    newest = next(iter(checks), None)
    return newest.started_at if newest is not None and newest.ok else None


def _covered(read: dict[int, RepositoryCheck], slices: int) -> datetime | None:
    if len(read) < slices or not all(check.ok for check in read.values()):
        return None
    return min(check.started_at for check in read.values())


def _last_read(checks: Sequence[RepositoryCheck], slices: int) -> dict[int, RepositoryCheck]:
    """The newest check of each slice; reading everything is a check of all of them."""
    read: dict[int, RepositoryCheck] = {}
    for check in sorted(checks, key=lambda check: check.started_at):
        if check.slices == 1:
            read.update(dict.fromkeys(range(1, slices + 1), check))
        elif check.slices == slices and check.slice is not None:
            read[check.slice] = check
    return read
