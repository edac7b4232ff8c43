"""The mark that a backup leaves in the database that it is of: a row that its copy must hold.

It is written in the transaction that reads the known answers, together with them. Only a table of
our own role is written to: in one that somebody else has put there, a trigger would run with our
rights.
"""

import json
import secrets
from collections.abc import Mapping

import psycopg

from leitstand.archive.postgres.canary import Mark, TableChoice, TableValues
from leitstand.errors import LeitstandError

KEPT = 100
"""Marks that stay in the table."""

_OURS = """
SELECT bool_and(owner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)) FROM (
    SELECT nspowner AS owner FROM pg_catalog.pg_namespace WHERE nspname = 'leitstand_canary'
    UNION ALL
    SELECT c.relowner FROM pg_catalog.pg_class AS c
    WHERE c.oid = pg_catalog.to_regclass('leitstand_canary.marks')
) AS owners
"""
_MAKE = """
CREATE SCHEMA leitstand_canary;
CREATE TABLE leitstand_canary.marks (
    id text PRIMARY KEY,
    token text NOT NULL,
    lsn pg_catalog.pg_lsn NOT NULL,
    answers text NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT pg_catalog.now()
)
"""
_PUT = """
INSERT INTO leitstand_canary.marks (id, token, lsn, answers)
VALUES (%(id)s, %(token)s, %(lsn)s, %(answers)s)
"""
_FORGET = """
DELETE FROM leitstand_canary.marks WHERE id NOT IN (
    SELECT id FROM leitstand_canary.marks ORDER BY taken_at DESC, id DESC LIMIT %(kept)s
)
"""


class ForeignMarksError(LeitstandError):
    """The place of the marks belongs to somebody else."""

    code = "CANARY_MARKS"


def put_mark(
    connection: psycopg.Connection,
    database: str,
    backup: str,
    lsn: str,
    values: Mapping[TableChoice, TableValues],
) -> Mark:
    """Write the mark of ``backup`` into the transaction that is open.

    Raises psycopg.Error (without the right to, on a standby) and ForeignMarksError.
    """
    ours = connection.execute(_OURS).fetchone()
    if ours is None or ours[0] is None:
        connection.execute(_MAKE)
    elif not ours[0]:
        raise ForeignMarksError("leitstand_canary belongs to another role")
    answers = json.dumps({choice.table: vars(said) for choice, said in values.items()})
    mark = Mark(database, f"{backup}-{secrets.token_hex(4)}", secrets.token_hex(16), "")
    parameters = {"id": mark.id, "token": mark.token, "lsn": lsn, "answers": answers}
    connection.execute(_PUT, parameters)
    connection.execute(_FORGET, {"kept": KEPT})
    return Mark(mark.database, mark.id, mark.token, Mark.digest_of(answers))


def mark_differs(connection: psycopg.Connection, mark: Mark) -> str | None:
    """How the copy's row differs from ``mark``, as a sentence; None if it does not."""
    query = "SELECT token, answers FROM leitstand_canary.marks WHERE id = %s"
    row = connection.execute(query, (mark.id,)).fetchone()
    if row is None:
        return f"the mark {mark.id}, written right before the backup, is not in the copy"
    if row[0] != mark.token or Mark.digest_of(row[1]) != mark.answers_sha256:
        return f"the mark {mark.id} holds something else than what was written"
    return None
