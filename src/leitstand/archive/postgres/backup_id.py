"""Ids of backups: UTC times ``YYYYMMDDTHHMMSSZ`` whose order is the order of the backups; pure.

The clock only proposes an id. One that would not sort after all existing ids (two backups in one
second, a clock that was set back) is replaced by the second after the newest of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta

from leitstand.errors import LeitstandError

FORMAT = "%Y%m%dT%H%M%SZ"
_SPELLING = re.compile(r"[0-9]{8}T[0-9]{6}Z")

TOLERANCE = timedelta(seconds=60)
"""How far the clock may lie behind the newest id before somebody should look at it."""


class BackupIdError(LeitstandError):
    """No id can follow the newest one: it stands at the end of time."""

    code = "BACKUP_ID"


@dataclass(frozen=True)
class NextId:
    """The id to use; ``clock_behind`` is set when the clock lies noticeably behind the newest."""

    id: str
    clock_behind: timedelta | None = None


def next_id(now: datetime, existing: Iterable[str]) -> NextId:
    """An id for a backup that starts ``now`` (with a time zone), after all ``existing`` ones.

    Names among ``existing`` that are no ids do not count.
    """
    proposed = now.astimezone(UTC).replace(microsecond=0)
    times = [time for time in map(time_of, existing) if time is not None]
    newest = max(times, default=None)
    if newest is None or proposed > newest:
        return NextId(proposed.strftime(FORMAT))
    try:
        following = newest + timedelta(seconds=1)
    except OverflowError:
        raise BackupIdError(
            f"no backup can follow the one called {newest.strftime(FORMAT)}, at the end of time",
            remedy="Move the directory of that name out of the backup directory; nothing dated so"
            " late was made by Leitstand.",
        ) from None
    behind = newest - proposed
    return NextId(following.strftime(FORMAT), behind if behind > TOLERANCE else None)


def is_backup_id(name: str) -> bool:
    """Whether ``name`` is an id of a generation or increment: a time that exists, spelt so."""
    return time_of(name) is not None


def is_last_year(name: str) -> bool:
    """Whether an id states the last year that one can: no clock does, and soon none can follow."""
    time = time_of(name)
    return time is not None and time.year == MAXYEAR


def time_of(name: str) -> datetime | None:
    """The time that an id states; None for a name that is no id or no time (month 13)."""
    if not _SPELLING.fullmatch(name):
        return None
    try:
        return datetime.strptime(name, FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
