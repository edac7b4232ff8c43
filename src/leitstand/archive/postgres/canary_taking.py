"""Asks a server for known answers before and after a backup, which goes on if it gives none."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

import psycopg
import structlog

from leitstand.archive.postgres.canary import (
    Canaries,
    CanaryChoice,
    Reading,
    TableChoice,
    settle,
)
from leitstand.archive.postgres.canary_mark import ForeignMarksError, put_mark
from leitstand.archive.postgres.canary_reading import prepare, read_tables, small_tables
from leitstand.archive.postgres.connection import Source
from leitstand.errors import LeitstandError

log = structlog.get_logger(__name__)

MARK = "the mark"


@dataclass(frozen=True)
class CanaryTaking:
    """Which answers of which server; ``backup`` is the id of the backup that is being taken."""

    source: Source
    choice: CanaryChoice
    backup: str

    def before(self) -> Reading:
        """What the server says now, and the mark, which is written; right before the copying."""
        return self._first() if self.choice.any else Reading()

    def settled(self, before: Reading) -> Canaries | None:
        """What a copy must say that ended just now; None where nothing is to be asked."""
        if not self.choice.any:
            return None
        after = _together(Reading(), self._of_databases(before.values))
        found = settle(before, after)
        if found.left_out:
            log.info("no known answers", of=dict(found.left_out))
        return found

    def _first(self) -> Reading:
        """The URL's own database, with the mark, then the others that are named."""
        home = self.source.database
        named = [choice for choice in self.choice.tables if choice.database == home]
        first = self._reading(home, named, marking=True)
        others = (choice for choice in self.choice.tables if choice.database != home)
        return _together(first, self._of_databases(others))

    def _of_databases(self, choices: Iterable[TableChoice]) -> list[Reading]:
        ordered = sorted(choices, key=lambda choice: choice.database)
        return [
            self._reading(database, list(found), marking=False)
            for database, found in groupby(ordered, key=lambda choice: choice.database)
        ]

    def _reading(self, database: str, choices: list[TableChoice], *, marking: bool) -> Reading:
        try:
            with self.source.connect(database) as connection:
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                with connection.transaction():
                    return self._read(connection, database, choices, marking=marking)
        except LeitstandError as error:
            reason = ": ".join(filter(None, (error.message, error.detail)))
            names = [choice.name for choice in choices] or [database]
            return Reading(problems=dict.fromkeys(names, reason))

    def _read(
        self,
        connection: psycopg.Connection,
        database: str,
        choices: list[TableChoice],
        *,
        marking: bool,
    ) -> Reading:
        prepare(connection)
        lsn = _position(connection)
        if lsn is None:  # what it has replayed may be more than what its backup ends with
            reason = "the server is a standby, of which no answer is known"
            return Reading(problems={database: reason})
        if marking:
            named = {choice.table for choice in choices}
            small = small_tables(connection, database, self.choice.automatic)
            choices = [*choices, *(choice for choice in small if choice.table not in named)]
        values, problems = read_tables(connection, choices)
        reading = Reading(lsn, values, problems)
        return self._marked(connection, database, reading) if marking else reading

    def _marked(self, connection: psycopg.Connection, database: str, reading: Reading) -> Reading:
        try:
            with connection.transaction():
                mark = put_mark(connection, database, self.backup, reading.lsn, reading.values)
        except (psycopg.Error, ForeignMarksError) as error:
            reason = f"it could not be written: {str(error).strip()}"
            return replace(reading, problems={**reading.problems, MARK: reason})
        return replace(reading, mark=mark)


def _position(connection: psycopg.Connection) -> str | None:
    row = connection.execute(
        "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END::text"
    ).fetchone()
    return None if row is None else row[0]


def _together(first: Reading, others: Iterable[Reading]) -> Reading:
    """All values and problems; position and mark of the first."""
    values, problems = dict(first.values), dict(first.problems)
    for other in others:
        values |= other.values
        problems |= other.problems
    return replace(first, values=values, problems=problems)
