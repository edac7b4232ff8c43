"""A scrub that is killed and started again: nothing is counted twice, nothing is skipped."""

import subprocess
import sys

import psycopg

from leitstand.archive.integrity.quota import Quota
from leitstand.archive.integrity.scrub import MARKS, ScrubOptions, scrub
from leitstand.archive.integrity.scrub_ledger import ScrubLedger, failure_counts
from leitstand.store.database import Database
from tests.archive.integrity.document_scene import Documents
from tests.execution.processes import until

OBJECTS = 3 * MARKS
SIZE = 1_000
WRONG = range(0, OBJECTS, OBJECTS // 6)
"""Damaged objects, some of which are read before the kill."""


def plant(documents: Documents) -> None:
    documents.execute(
        "INSERT INTO file_revisions SELECT n, n, to_char(n, 'FM00000'),"
        f" encode(sha256(repeat('x', {SIZE})::bytea), 'hex')"
        f" FROM generate_series(0, {OBJECTS - 1}) AS n"
    )
    for number in range(OBJECTS):
        documents.put(b"%05d" % number, (b"y" if number in WRONG else b"x") * SIZE)


def marked(documents: Documents) -> int:
    with psycopg.connect(documents.conninfo) as connection:
        (count,) = connection.execute("SELECT count(*) FROM scrub_state").fetchone() or (0,)
    return int(count)


async def test_a_scrub_that_was_killed_goes_on(documents: Documents, database: Database) -> None:
    plant(documents)
    rate = OBJECTS * SIZE / 10  # slow enough to be killed on its way
    argv = [sys.executable, "-m", "tests.archive.integrity.scrub_process"]
    with subprocess.Popen([*argv, documents.conninfo, str(documents.root), str(rate)]) as process:
        until(lambda: marked(documents) >= MARKS, 60)
        process.kill()
    before = marked(documents)
    assert MARKS <= before < OBJECTS

    store = documents.store()
    ledger = await ScrubLedger.of(database, store.name)
    async with documents.table() as table:
        result = await scrub(table, store, ledger, ScrubOptions(Quota(count=OBJECTS)))
    assert before + result.sampled == marked(documents) == OBJECTS
    assert await failure_counts(database) == {store.name: len(WRONG)}
    assert (await ledger.failed(10)).count == len(WRONG)
    assert 0 < len(result.findings) < len(WRONG)
