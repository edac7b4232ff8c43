"""Asks a restored copy for the answers that were known when the backup was taken."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import psycopg

from leitstand.archive.drills.copy_check import CopyCheckError
from leitstand.archive.drills.isolated_server import IsolatedServer
from leitstand.archive.postgres.canary import (
    Canaries,
    Canary,
    Mark,
    TableValues,
    difference,
)
from leitstand.archive.postgres.canary_mark import mark_differs
from leitstand.archive.postgres.canary_reading import prepare, read_tables
from leitstand.display import counted


@dataclass(frozen=True)
class Answers:
    """What the copy said: ``problems`` by table (or of the mark), as sentences."""

    known: Canaries
    said: dict[str, TableValues]
    problems: dict[str, str]

    @property
    def asked(self) -> int:
        """How many answers are known: tables, and the mark."""
        return len(self.known.tables) + (self.known.mark is not None)

    def as_dict(self) -> dict[str, Any]:
        """The shape in a drill's JSON."""
        mark = self.known.mark
        return {
            "lsn": self.known.lsn,
            "expected": self.asked,
            "returned": self.asked - len(self.problems),
            "mark": None if mark is None else mark.id,
            "tables": {canary.name: self._row(canary) for canary in self.known.tables},
            "left_out": len(self.known.left_out),
            "problems": dict(self.problems),
        }

    def _row(self, canary: Canary) -> dict[str, Any]:
        said = self.said.get(canary.name)
        return {
            "rows": None if said is None else said.rows,
            "greatest": None if said is None else said.greatest,
            "exact": canary.rows[0] == canary.rows[1],
            "ok": canary.name not in self.problems,
        }


def require_known(answers: Answers) -> None:
    """Raise CopyCheckError, which names each answer that differs, unless all came back."""
    if not answers.problems:
        return
    raise CopyCheckError(
        f"{len(answers.problems)} of {counted(answers.asked, 'known answer')} did not come back",
        detail="\n".join(f"{name}: {problem}" for name, problem in answers.problems.items()),
    )


def ask_known(server: IsolatedServer, known: Canaries, deadline: float) -> Answers:
    """Ask for everything that is known; each statement may take ``deadline`` seconds."""
    answers = Answers(known, {}, {})
    if known.mark is not None:
        _ask_mark(server, known.mark, deadline, answers)
    ordered = sorted(known.tables, key=lambda canary: canary.database)
    for database, found in groupby(ordered, key=lambda canary: canary.database):
        _ask_tables(server, database, list(found), deadline, answers)
    return answers


def _ask_mark(server: IsolatedServer, mark: Mark, deadline: float, answers: Answers) -> None:
    try:
        with _asking(server, mark.database, deadline) as connection:
            problem = mark_differs(connection, mark)
    except psycopg.Error as error:
        problem = f"it could not be read: {str(error).strip()}"
    if problem is not None:
        answers.problems["the mark"] = problem


def _ask_tables(
    server: IsolatedServer,
    database: str,
    canaries: list[Canary],
    deadline: float,
    answers: Answers,
) -> None:
    try:
        with _asking(server, database, deadline) as connection:
            values, problems = read_tables(connection, [canary.choice for canary in canaries])
    except psycopg.Error as error:
        reason = f"it could not be read: {str(error).strip()}"
        answers.problems.update({canary.name: reason for canary in canaries})
        return
    answers.problems.update(problems)
    for canary in canaries:
        actual = values.get(canary.choice)
        if actual is None:
            continue
        answers.said[canary.name] = actual
        problem = difference(canary, actual)
        if problem is not None:
            answers.problems[canary.name] = problem


@contextmanager
def _asking(server: IsolatedServer, database: str, deadline: float) -> Iterator[psycopg.Connection]:
    """As the role that can only read: a table's owner may have put something in its place."""
    with psycopg.connect(
        server.conninfo(server.ways_in.reader, database),
        connect_timeout=10,
        options=f"-c statement_timeout={int(deadline * 1000)}",
    ) as connection:
        prepare(connection)
        yield connection
