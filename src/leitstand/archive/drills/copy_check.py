"""Asks a restored copy whether it is really a sound database with the expected answers."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import psycopg

from leitstand.archive.drills.isolated_server import IsolatedServer
from leitstand.errors import LeitstandError

CORRUPTION = 2
"""pg_amcheck's exit status when it found corruption."""
OUTPUT_LIMIT = 4000


class CopyCheckError(LeitstandError):
    """The restored copy answers wrongly, or not at all."""

    code = "DRILL_CHECK"


class CopyCheck(Protocol):
    """A further check of a restored copy; ``name`` is that of its phase."""

    @property
    def name(self) -> str:
        """In one word."""

    def __call__(self, server: IsolatedServer, limit: float) -> str:
        """What is to be said of a copy that passes; raises CopyCheckError, within ``limit`` s."""


@dataclass(frozen=True)
class ExpectedAnswer:
    """A query whose first value, as text, must be ``expect``."""

    database: str
    sql: str
    expect: str


def ask(server: IsolatedServer, query: ExpectedAnswer, deadline: float) -> None:
    """Run one query in the copy; raises CopyCheckError unless the answer is the expected one.

    The query is asked without a superuser's rights: what it names may be a view or call a function
    made by somebody who could not run programs on the original.
    """
    try:
        with psycopg.connect(
            server.conninfo(server.ways_in.reader, query.database),
            connect_timeout=10,
            options=f"-c statement_timeout={int(deadline * 1000)}",
        ) as connection:
            row = connection.execute(query.sql.encode()).fetchone()
    except psycopg.Error as error:
        raise CopyCheckError(
            f"{query.sql!r} failed in the restored database {query.database!r}",
            detail=str(error).strip(),
        ) from error
    answer = None if row is None else row[0]
    if str(answer) != query.expect:
        raise CopyCheckError(
            f"{query.sql!r} in the restored database {query.database!r} "
            f"answered {str(answer)[:200]!r}, not {query.expect!r}"
        )


def answers_select_one(server: IsolatedServer, deadline: float) -> None:
    """The least that a database must do."""
    ask(server, ExpectedAnswer(server.ways_in.database, "SELECT 1", "1"), deadline)


def check_structure(server: IsolatedServer, deadline: float) -> None:
    """Have pg_amcheck read every table and index of every database; raises CopyCheckError.

    The extension amcheck is installed in the copy where it is missing; the original is not touched.
    It takes a superuser. Functions of indexes are not called: that would need --heapallindexed.
    """
    try:
        done = subprocess.run(
            [
                server.cluster.binaries.path("pg_amcheck"),
                "--all",
                "--install-missing",
                "--no-password",
                f"--host={server.socket_dir}",
                "--port=5432",
                f"--username={server.ways_in.superuser}",
                f"--maintenance-db={server.ways_in.database}",
            ],
            env={"LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=deadline,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CopyCheckError(f"pg_amcheck did not end within {deadline:g} s") from error
    if done.returncode == 0:
        return
    what = "found corruption" if done.returncode == CORRUPTION else "failed"
    raise CopyCheckError(
        f"pg_amcheck {what} in the restored copy",
        detail=(done.stdout + done.stderr).strip()[-OUTPUT_LIMIT:],
    )


def ask_all(server: IsolatedServer, queries: Sequence[ExpectedAnswer], deadline: float) -> None:
    """Run all queries within ``deadline`` seconds altogether."""
    until = time.monotonic() + deadline
    for query in queries:
        ask(server, query, max(0.1, until - time.monotonic()))
