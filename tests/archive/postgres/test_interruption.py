"""A backup whose process is ended leaves no process, no slot and nothing that counts as one."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.postgres.backup import TEMPORARY, take_incremental
from tests.archive_scene import Archive

WORKER = """
import sys
from pathlib import Path
from leitstand.archive.postgres.backup import Repository, take_full
from leitstand.archive.postgres.connection import Source
from leitstand.store.binaries import embedded_binaries

def report(progress):
    if progress.bytes_done > 0:
        print(progress.phase, flush=True)

source, directory = Source.parse(sys.argv[1]), Path(sys.argv[2])
take_full(Repository(source, directory, embedded_binaries(), level=9), report)
"""
PATIENCE = 5.0


@pytest.fixture(scope="module")
def much_data(taken: Archive) -> Iterator[None]:
    """Enough to compress for some seconds."""
    with psycopg.connect(taken.server.conninfo("archived"), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE much AS SELECT md5(g::text) AS a, md5((g + 1)::text) AS b"
            " FROM generate_series(1, 300000) g"
        )
        yield
        connection.execute("DROP TABLE much")


def programs_of(directory: Path) -> list[int]:
    """Processes that have ``directory`` in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(directory).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def count(connection: psycopg.Connection, query: bytes) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.usefixtures("much_data")
def test_a_worker_that_is_ended(archive: Archive, how: signal.Signals) -> None:
    """Cases 26 and 51."""
    before = archive.generations
    argv = [sys.executable, "-c", WORKER, archive.server.conninfo(), str(archive.directory)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"copy\n"
        assert len(programs_of(archive.directory)) >= 3  # the worker, the program and its child
        worker.send_signal(how)
    until = time.monotonic() + PATIENCE
    with psycopg.connect(archive.server.conninfo(), autocommit=True) as connection:
        while (
            programs_of(archive.directory)
            or count(connection, b"SELECT count(*) FROM pg_replication_slots WHERE temporary")
            or count(connection, b"SELECT count(*) FROM pg_stat_replication")
        ):
            assert time.monotonic() < until
            time.sleep(0.02)
    assert archive.generations == before
    assert take_incremental(archive.repository).generation == before[-1].id
    assert not list(archive.directory.glob(f"{TEMPORARY}*"))
