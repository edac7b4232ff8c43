"""Full and incremental backups of a real server: what they build on, and when they are refused."""

import json
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.postgres.backup import Repository, take_full, take_incremental
from leitstand.archive.postgres.backup_lock import BackupBusyError, backup_lock
from leitstand.archive.postgres.basebackup import (
    BackupProgress,
    BasebackupError,
    IncrementalNeedsFullError,
)
from leitstand.archive.postgres.catalogue import list_generations
from leitstand.archive.postgres.checks import Check, CheckKind, note_check
from leitstand.archive.postgres.connection import SourceUnfitError
from leitstand.archive.postgres.materialise import materialise
from leitstand.archive.postgres.parent import NoGenerationError
from leitstand.archive.postgres.stage import BASE, SIDECAR, Stage, StageKind
from leitstand.archive.postgres.verify import verify_generation
from tests.archive_scene import Archive, repository
from tests.conftest import Postgres


def flip(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def test_each_increment_builds_on_the_one_before_it(archive: Archive) -> None:
    stages = archive.newest.stages
    parents = [stage.record.parent for stage in stages if stage.record is not None]
    assert parents[0] is None
    assert [parent.id for parent in parents[1:] if parent] == [
        archive.newest.id,
        *(stage.path.name for stage in stages[1:-1]),
    ]
    verdict = verify_generation(archive.newest.path, archive.repository.binaries)
    assert verdict.ok, verdict.findings
    assert not verdict.notes


def test_the_result_says_what_was_taken(archive: Archive) -> None:
    seen: list[BackupProgress] = []
    result = take_incremental(archive.repository, seen.append)
    assert result.kind is StageKind.INCREMENTAL
    assert result.generation == archive.newest.id
    assert result.parent == archive.newest.increments[-2].path.name
    assert result.bytes > 0 < result.duration
    assert result.full_reason is None
    assert {progress.phase for progress in seen} == {"copy", "verify"}
    assert seen[-1].percent == pytest.approx(100, abs=60)
    json.dumps(result.as_dict())


def test_an_idle_server_can_be_backed_up_twice(archive: Archive) -> None:
    """Case 14."""
    first, second = take_full(archive.repository), take_full(archive.repository)
    assert first.id < second.id
    assert [generation.state.value for generation in archive.generations] == ["complete"] * 3
    assert archive.newest.verified_at is not None


def test_without_a_generation_a_full_one_is_asked_for(postgres: Postgres, short_dir: Path) -> None:
    with pytest.raises(NoGenerationError) as caught:
        take_incremental(repository(postgres, short_dir / "empty"))
    assert "full" in str(caught.value.remedy)


def test_no_increment_on_a_full_backup_that_was_changed(archive: Archive) -> None:
    """Case 5: the size is right, a byte is not."""
    flip(archive.newest.path / "full" / BASE, 5000)
    with pytest.raises(IncrementalNeedsFullError, match=r"base\.tar\.gz was changed"):
        take_incremental(archive.repository)
    result = take_incremental(archive.repository, full_if_needed=True)
    assert result.kind is StageKind.FULL
    assert "was changed" in str(result.full_reason)


def test_no_increment_on_a_generation_that_did_not_verify(archive: Archive) -> None:
    """Case 5."""
    failed = Check(datetime.now(UTC), CheckKind.VERIFY, False, ("full",), 1, "rotten")
    note_check(archive.newest.path, failed)
    with pytest.raises(IncrementalNeedsFullError, match="rotten"):
        take_incremental(archive.repository)


def test_no_increment_after_a_gap(archive: Archive) -> None:
    """Case 6."""
    shutil.rmtree(archive.newest.increments[1].path)
    with pytest.raises(IncrementalNeedsFullError, match="damaged"):
        take_incremental(archive.repository)
    assert take_incremental(archive.repository, full_if_needed=True).kind is StageKind.FULL


def test_no_increment_without_a_record(archive: Archive) -> None:
    (archive.newest.path / "full" / SIDECAR).unlink()
    with pytest.raises(IncrementalNeedsFullError, match="incomplete"):
        take_incremental(archive.repository)


def test_overlapping_runs_exclude_each_other(archive: Archive) -> None:
    """Case 49."""
    with backup_lock(archive.directory, "nightly backup"):
        with pytest.raises(BackupBusyError, match="nightly backup, process"):
            take_full(archive.repository)
        with pytest.raises(BackupBusyError):
            take_incremental(archive.repository)
    take_incremental(archive.repository)


def test_a_failure_in_the_middle_is_one(archive: Archive) -> None:
    """Case 47: the server ends the connection while it copies."""

    def cut_off(progress: BackupProgress) -> None:
        if progress.bytes_done > 0:
            with psycopg.connect(archive.server.conninfo()) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE backend_type = 'walsender'"
                )

    before = archive.generations
    slow = Repository(archive.repository.source, archive.directory, archive.repository.binaries, 9)
    with pytest.raises(BasebackupError) as caught:
        take_full(slow, cut_off)
    assert caught.value.failure_class == "transient"
    assert archive.generations == before
    assert not list(archive.directory.glob(".tmp*"))


def test_an_interrupted_backup_leaves_nothing(archive: Archive) -> None:
    """Case 51."""

    def interrupt(progress: BackupProgress) -> None:
        if progress.phase == "verify":
            raise KeyboardInterrupt

    before = archive.generations
    for take in (take_full, take_incremental):
        with pytest.raises(KeyboardInterrupt):
            take(archive.repository, interrupt)
    assert archive.generations == before
    assert not list(archive.directory.rglob(".tmp*"))


def test_a_server_that_keeps_no_summaries(own_postgres: Postgres, short_dir: Path) -> None:
    """Without summaries, or with a gap in them, there is no increment, but a full backup."""
    backups = repository(own_postgres, short_dir / "b")
    take_full(backups)
    _restart(own_postgres, summarize_wal="off")
    with pytest.raises(SourceUnfitError, match="summarise"):
        take_incremental(backups)
    assert "summarise" in str(take_incremental(backups, full_if_needed=True).full_reason)
    _restart(own_postgres, summarize_wal="on")
    _wait_for_summary_of(take_full(backups).id, backups, own_postgres)
    for summary in (own_postgres.cluster.data / "pg_wal" / "summaries").iterdir():
        summary.unlink()
    with pytest.raises(IncrementalNeedsFullError):
        take_incremental(backups)


def _wait_for_summary_of(generation: str, backups: Repository, server: Postgres) -> None:
    """Wait until the summariser is past the start of the backup, so that it will not come back."""
    record = Stage.read(backups.directory / generation / "full").record
    assert record is not None
    until = time.monotonic() + 30
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        while not connection.execute(
            "SELECT 1 FROM pg_available_wal_summaries() WHERE end_lsn > %s::pg_lsn",
            [record.start_lsn],
        ).fetchone():
            assert time.monotonic() < until
            connection.execute("CHECKPOINT")
            time.sleep(0.05)


def _restart(server: Postgres, **options: str) -> None:
    server.stop()
    options |= {"listen_addresses": "", "fsync": "off"}
    server.cluster.start(server.socket_dir, server.log_file, options)


def test_another_cluster_starts_a_line_of_its_own(archive: Archive, own_postgres: Postgres) -> None:
    """Case 33."""
    other = repository(own_postgres, archive.directory)
    with pytest.raises(IncrementalNeedsFullError, match="the server is the system"):
        take_incremental(other)
    result = take_incremental(other, full_if_needed=True)
    first, second = archive.generations
    assert result.id == second.id > first.id
    assert first.system_identifier != second.system_identifier


def test_no_increment_across_a_restore(own_postgres: Postgres, short_dir: Path) -> None:
    """An increment of another history would verify, combine and start, with wrong data.

    System identifier and time line are the same, the WAL is longer and its summaries have no gap.
    """
    before = repository(own_postgres, short_dir / "backups")
    take_full(before)
    _write_wal(own_postgres, megabytes=2)
    take_incremental(before)
    own_postgres.stop()

    (generation,) = list_generations(before.directory)
    cluster = own_postgres.cluster
    restored = materialise(
        generation.path,
        short_dir / "restored",
        cluster.binaries,
        cluster.account,
        short_dir / "tablespaces",
        upto="full",
    )
    after = replace(own_postgres, cluster=replace(cluster, data=restored.data))
    after.start()
    try:
        _write_wal(after, megabytes=40)
        with pytest.raises(IncrementalNeedsFullError, match="was restored since"):
            take_incremental(before)
        taken = take_incremental(before, full_if_needed=True)
        assert taken.kind is StageKind.FULL
        assert "restored" in str(taken.full_reason)
        assert take_incremental(before).parent == taken.id
    finally:
        after.stop()


def _write_wal(server: Postgres, megabytes: int) -> None:
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        for _ in range(megabytes):
            connection.execute("SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))")
        connection.execute("CHECKPOINT")
