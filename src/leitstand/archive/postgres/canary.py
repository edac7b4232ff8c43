"""Known answers: what a database said of itself while it was backed up, and what a copy must say.

Pure. Tables are read twice, before the copying begins and after it has ended; the state of the copy
lies between. A table with the same values and no change in between must come back exactly so. One
that only grows must come back with values between the two. Any other that changed is left out: no
answer of it is known.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

CHANGED = "it changed while the backup was taken"
SHRANK = "it lost rows while the backup was taken, though it is said to be append-only"


@dataclass(frozen=True)
class TableChoice:
    """A table to ask about: ``table`` as SQL writes it, with its schema.

    ``key`` is an integer column whose greatest value counts, too; ``append_only`` promises that
    rows are only ever added.
    """

    database: str
    table: str
    key: str = ""
    append_only: bool = False

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"{self.database}.{self.table}"


@dataclass(frozen=True)
class CanaryChoice:
    """What is asked: the ``tables`` that were named, and up to ``automatic`` small ones of the
    database that the backup's URL names. With neither, nothing is asked and no mark is left.
    """

    tables: tuple[TableChoice, ...] = ()
    automatic: int = 0

    @property
    def any(self) -> bool:
        """Whether anything is asked."""
        return bool(self.tables) or self.automatic > 0


@dataclass(frozen=True)
class TableValues:
    """What a table says: rows, the greatest key, a digest of all rows in any order.

    ``changes`` is the server's count of changed rows; a copy begins anew with it.
    """

    rows: int
    greatest: int | None
    digest: str | None
    changes: int = 0


@dataclass(frozen=True)
class Mark:
    """A row that was written into the database just before the backup: nobody could guess it."""

    database: str
    id: str
    token: str
    answers_sha256: str

    @staticmethod
    def digest_of(answers: str) -> str:
        """The SHA-256 (hex) of the answers as they stand in the row."""
        return hashlib.sha256(answers.encode()).hexdigest()


@dataclass(frozen=True)
class Reading:
    """One look at a server: the WAL position, values by table, and why others have none."""

    lsn: str = ""
    values: Mapping[TableChoice, TableValues] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    mark: Mark | None = None


@dataclass(frozen=True)
class Canary:
    """What a copy must say of one table; least and most are equal where nothing changed."""

    database: str
    table: str
    key: str
    rows: tuple[int, int]
    greatest: tuple[int, int] | None
    digest: str | None

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"{self.database}.{self.table}"

    @property
    def choice(self) -> TableChoice:
        """What to ask the copy."""
        return TableChoice(self.database, self.table, self.key)

    def as_dict(self) -> dict[str, object]:
        """The shape in ``backup.json``."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """From ``backup.json``; raises KeyError, TypeError, ValueError."""
        greatest = found["greatest"]
        return cls(
            database=str(found["database"]),
            table=str(found["table"]),
            key=str(found["key"]),
            rows=_pair(found["rows"]),
            greatest=None if greatest is None else _pair(greatest),
            digest=None if found["digest"] is None else str(found["digest"]),
        )


@dataclass(frozen=True)
class Canaries:
    """All known answers of one backup; ``left_out`` says of which table none is known, and why."""

    lsn: str
    tables: tuple[Canary, ...]
    left_out: Mapping[str, str]
    mark: Mark | None = None

    def as_dict(self) -> dict[str, object]:
        """The shape in ``backup.json``."""
        return {
            "lsn": self.lsn,
            "mark": None if self.mark is None else dict(vars(self.mark)),
            "tables": [canary.as_dict() for canary in self.tables],
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """From ``backup.json``; raises ValueError."""
        try:
            mark = found["mark"]
            return cls(
                lsn=str(found["lsn"]),
                tables=tuple(Canary.from_dict(canary) for canary in found["tables"]),
                left_out={str(name): str(reason) for name, reason in found["left_out"].items()},
                mark=None if mark is None else Mark(**{k: str(v) for k, v in mark.items()}),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"canaries cannot be read: {error}") from error


def settle(before: Reading, after: Reading) -> Canaries:
    """What a copy taken between the two readings must say."""
    known, left_out = [], {**before.problems}
    for choice, first in before.values.items():
        second = after.values.get(choice)
        if second is None:
            left_out[choice.name] = after.problems.get(choice.name, "it could not be read again")
        elif choice.append_only and not _grew(first, second):
            left_out[choice.name] = SHRANK
        elif first == second or choice.append_only:
            known.append(_canary(choice, first, second))
        else:
            left_out[choice.name] = CHANGED
    return Canaries(before.lsn, tuple(known), left_out, before.mark)


def difference(canary: Canary, actual: TableValues) -> str | None:
    """How ``actual`` differs from what is known, as a sentence without the table; None if not."""
    if not canary.rows[0] <= actual.rows <= canary.rows[1]:
        return f"it has {actual.rows} rows, not {_range(canary.rows)}"
    known = canary.greatest
    if known is not None and (
        actual.greatest is None or not known[0] <= actual.greatest <= known[1]
    ):
        return f"its greatest {canary.key} is {actual.greatest}, not {_range(known)}"
    if canary.digest is not None and canary.digest != actual.digest:
        return "its rows are not those that were backed up (another digest)"
    return None


def _grew(first: TableValues, second: TableValues) -> bool:
    return second.rows >= first.rows and (second.greatest or 0) >= (first.greatest or 0)


def _canary(choice: TableChoice, first: TableValues, second: TableValues) -> Canary:
    keys = (first.greatest, second.greatest)
    return Canary(
        choice.database,
        choice.table,
        choice.key,
        (first.rows, second.rows),
        None if keys[0] is None or keys[1] is None else (keys[0], keys[1]),
        first.digest if first == second else None,
    )


def _range(known: tuple[int, int]) -> str:
    least, most = known
    return f"{least}" if least == most else f"{least} to {most}"


def _pair(found: Sequence[Any]) -> tuple[int, int]:
    least, most = found
    return int(least), int(most)
