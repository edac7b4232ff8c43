"""Restores: the rows of the chosen stage come back, and a failure leaves the target as it was."""

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.postgres.backup import take_full, take_incremental
from leitstand.archive.postgres.materialise import (
    GenerationDamagedError,
    Materialised,
    MaterialiseProgress,
)
from leitstand.archive.postgres.restore import Restore, restore_database
from leitstand.archive.postgres.stage import BASE
from leitstand.archive.restore_target import TargetRefusedError
from leitstand.errors import NotFoundError
from leitstand.store.account import server_account
from leitstand.store.cluster import Cluster
from tests.archive.postgres.test_backup import flip
from tests.archive_scene import DATABASE, Archive

OPTIONS = {"listen_addresses": "", "fsync": "off", "archive_mode": "off"}


def rounds(data: Path, short_dir: Path, archive: Archive) -> list[int]:
    """What a server started on ``data`` answers."""
    return ask(data, short_dir, archive, "SELECT DISTINCT round FROM entry ORDER BY round")


def ask(data: Path, short_dir: Path, archive: Archive, query: str) -> list[int]:
    cluster = Cluster(data, archive.repository.binaries, server_account())
    socket_dir = short_dir / "sock"
    socket_dir.mkdir(mode=0o700)
    cluster.account.own(socket_dir)
    cluster.start(socket_dir, short_dir / "restored.log", OPTIONS)
    try:
        with psycopg.connect(cluster.conninfo(socket_dir, DATABASE)) as connection:
            return [row[0] for row in connection.execute(query.encode())]
    finally:
        cluster.stop()


def run(archive: Archive, order: Restore) -> Materialised:
    return restore_database(order, archive.repository.binaries, server_account())


def contents(top: Path) -> dict[str, bytes]:
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


def last_result(log: Path) -> str:
    return str(json.loads(log.read_text().splitlines()[-1])["result"])


@pytest.fixture
def order(archive: Archive, short_dir: Path) -> Callable[..., Restore]:
    """A restore of the newest generation to ``short_dir/target``, with changes."""

    def make(**changes: object) -> Restore:
        given = {
            "generation": archive.newest.path,
            "target": short_dir / "target",
            "log": short_dir / "restore.jsonl",
        }
        return Restore(**(given | changes))  # type: ignore[arg-type]

    return make


def test_the_last_increment_comes_back(
    archive: Archive, order: Callable[..., Restore], short_dir: Path
) -> None:
    made = run(archive, order())
    assert rounds(made.data, short_dir, archive) == [0, 1, 2, 3]
    assert made.source == f"{archive.newest.id}/{archive.newest.increments[-1].path.name}"
    assert made.recovery_point == archive.newest.finished_at
    assert set(made.phases) == {"unpack", "combine"}
    assert last_result(order().log) == "ok"


def test_an_earlier_stage_comes_back(
    archive: Archive, order: Callable[..., Restore], short_dir: Path
) -> None:
    made = run(archive, order(upto=archive.newest.increments[0].path.name))
    assert rounds(made.data, short_dir, archive) == [0, 1]


def test_the_full_backup_alone_comes_back_with_force(
    archive: Archive, order: Callable[..., Restore], short_dir: Path
) -> None:
    """Cases 59 and 60: old content goes; modes and owners are PostgreSQL's."""
    target = order().target
    target.mkdir()
    (target / "old").write_text("old")
    made = run(archive, order(upto="full", force=True))
    assert not (target / "old").exists()
    account = server_account()
    for path in (target, *target.rglob("*")):
        status = path.lstat()
        assert status.st_uid == account.uid
        assert not stat.S_IMODE(status.st_mode) & 0o077
    assert rounds(made.data, short_dir, archive) == [0]
    assert not [path for path in short_dir.iterdir() if path.name.startswith(".")]


def test_content_is_refused_before_anything_runs(
    archive: Archive, order: Callable[..., Restore], short_dir: Path
) -> None:
    target = order().target
    target.mkdir()
    (target / "old").write_text("old")
    before = sorted(short_dir.iterdir())
    with pytest.raises(TargetRefusedError):
        run(archive, order())
    assert last_result(order().log).startswith("aborted: ")
    assert sorted(p for p in short_dir.iterdir() if p != order().log) == before


def test_damage_leaves_the_target_as_it_was(
    archive: Archive, order: Callable[..., Restore], short_dir: Path
) -> None:
    """Cases 1 and 4: verified while it is unpacked, since combining would not notice."""
    flip(archive.newest.increments[1].path / BASE, 3000)
    target = order().target
    target.mkdir()
    (target / "old").write_text("old")
    before = contents(target)
    with pytest.raises(GenerationDamagedError):
        run(archive, order(force=True))
    assert contents(target) == before
    assert last_result(order().log).startswith("failed: ")
    assert not [path for path in short_dir.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("phase", ["unpack", "combine"])
def test_an_interruption_leaves_nothing(
    archive: Archive, order: Callable[..., Restore], short_dir: Path, phase: str
) -> None:
    def interrupt(progress: MaterialiseProgress) -> None:
        if progress.phase == phase:
            raise KeyboardInterrupt

    before = sorted(short_dir.iterdir())
    with pytest.raises(KeyboardInterrupt):
        restore_database(order(), archive.repository.binaries, server_account(), interrupt)
    assert last_result(order().log) == "aborted: KeyboardInterrupt"
    assert sorted(p for p in short_dir.iterdir() if p != order().log) == before


def test_unknown_sources(archive: Archive, order: Callable[..., Restore]) -> None:
    for changes in ({"generation": archive.directory / "20200101T000000Z"}, {"upto": "x"}):
        with pytest.raises(NotFoundError):
            run(archive, order(**changes))
        assert last_result(order().log).startswith("aborted: ")


def test_a_running_server_is_no_target(archive: Archive, order: Callable[..., Restore]) -> None:
    data = archive.server.cluster.data
    with pytest.raises(TargetRefusedError, match="running"):
        run(archive, order(target=data, force=True))


def test_a_server_that_was_started_meanwhile_keeps_its_data(
    archive: Archive, order: Callable[..., Restore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours lie between the first look at the target and its exchange."""
    target = order().target
    target.mkdir()
    (target / "old").write_text("old")
    looks = iter([None, 4711])
    monkeypatch.setattr(Cluster, "running_pid", lambda _: next(looks))
    with pytest.raises(TargetRefusedError, match="running"):
        run(archive, order(force=True))
    assert contents(target) == {"old": b"old"}


def test_a_gap_cannot_be_restored(archive: Archive, order: Callable[..., Restore]) -> None:
    """Case 6: what lies before the gap still can."""
    shutil.rmtree(archive.newest.increments[1].path)
    with pytest.raises(GenerationDamagedError):
        run(archive, order())
    run(archive, order(upto=archive.newest.increments[0].path.name))


def test_tablespaces(archive: Archive, order: Callable[..., Restore], short_dir: Path) -> None:
    """Cases 17, 18 and 55: two of them, one with a space and an equals sign in its path."""
    places = [short_dir / "one", short_dir / "a = b"]
    for place in places:
        place.mkdir(mode=0o700)
        server_account().own(place)
    with psycopg.connect(archive.server.conninfo(DATABASE), autocommit=True) as connection:
        try:
            for number, place in enumerate(places):
                create = f"CREATE TABLESPACE ts{number} LOCATION '{place}'"
                connection.execute(create.encode())
                table = f"CREATE TABLE spaced{number} TABLESPACE ts{number} AS SELECT 7 AS seven"
                connection.execute(table.encode())
            take_full(archive.repository)
            connection.execute("UPDATE spaced1 SET seven = 8")
            take_incremental(archive.repository)
        finally:
            for number in (0, 1):
                connection.execute(f"DROP TABLE IF EXISTS spaced{number}".encode())
                connection.execute(f"DROP TABLESPACE IF EXISTS ts{number}".encode())
    live = [os.stat(place).st_mtime_ns for place in places]
    spaces = order().target.with_name("target.tablespaces")
    spaces.mkdir()
    (spaces / "precious").touch()
    with pytest.raises(TargetRefusedError):
        run(archive, order())
    (spaces / "precious").unlink()
    for stage in ("full", None):
        made = run(archive, order(upto=stage, force=True))
        (home,) = spaces.iterdir()  # what an earlier restore had put there has gone
        assert sorted(made.tablespaces.values()) == sorted(home.iterdir())
        assert {os.readlink(path) for path in (made.data / "pg_tblspc").iterdir()} == {
            str(path) for path in made.tablespaces.values()
        }
    answer = ask(
        made.data, short_dir, archive, "SELECT s.seven * 10 + t.seven FROM spaced0 s, spaced1 t"
    )
    assert answer == [78]
    assert [os.stat(place).st_mtime_ns for place in places] == live
