"""Snapshots: what is new is stored once, and what is missing in one is never forgotten."""

import os
import shutil
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leitstand.archive import ObjectDrill, SnapshotState, drill_objects
from leitstand.archive.objects import object_backup
from leitstand.archive.objects.object_backup import formerly_filled
from leitstand.archive.objects.object_ledger import Record
from leitstand.archive.objects.restic import Words
from leitstand.archive.objects.sources import SourcesUnusableError
from leitstand.errors import LeitstandError, UsageError
from tests.archive.objects.conftest import Scene


async def test_unchanged_data_transmits_nothing(scene: Scene) -> None:
    made = await scene.back_up()
    counts = made.counts
    assert (counts.files_new, counts.files_changed, counts.files_unmodified) == (0, 0, 4)
    assert (counts.data_blobs, counts.bytes_added) == (0, 0)
    assert counts.bytes_processed > 600_000
    assert not made.is_partial
    first, second = await scene.snapshots()
    assert (first.state, second.state) == (SnapshotState.COMPLETE, SnapshotState.COMPLETE)
    assert second.id == made.snapshot.id
    assert second.paths == (str(scene.tree),)


async def test_equal_files_are_one_blob(bare: Scene) -> None:
    source = bare.place / "source"
    source.mkdir()
    for name in ("one", "two"):
        (source / name).write_bytes(b"the same" * 1000)
    made = await bare.back_up(source)
    assert made.created
    assert (made.counts.files_new, made.counts.data_blobs) == (2, 1)


async def test_a_source_that_is_missing_makes_the_snapshot_partial(scene: Scene) -> None:
    """Cases 43 and 44: restic before 0.19 ends with 0 here."""
    other = scene.place / "other"
    other.mkdir()
    (other / "file").write_text("x")
    made = await scene.back_up(other, scene.place / "unmounted")
    assert made.is_partial
    assert made.left.count == 1
    assert "unmounted" in made.left.problems[0]
    *_, listed = await scene.snapshots()
    assert listed.state is SnapshotState.PARTIAL
    assert made.snapshot.is_partial  # known by its tag, also without a database


async def test_a_source_that_is_empty_all_at_once_is_not_mounted(scene: Scene) -> None:
    """Case 44: what a disk leaves behind is an empty directory."""
    source = scene.place / "source"
    source.mkdir()
    (source / "file").write_text("x")
    await scene.back_up(source)
    (source / "file").unlink()
    with pytest.raises(SourcesUnusableError, match="is it mounted"):
        await scene.back_up(source)
    made = await scene.back_up(source, scene.tree)
    assert made.is_partial
    with pytest.raises(SourcesUnusableError):  # a partial one says nothing about what is right
        await scene.back_up(source)
    assert not (await scene.back_up(source, allow_empty=True)).is_partial


def test_which_sources_should_not_be_empty() -> None:
    """The last whole backup of each decides, whatever was backed up since."""
    day = [datetime(2026, 12, number, tzinfo=UTC) for number in range(1, 6)]
    records = [
        Record("1", day[0], complete=True, sources=("/a", "/b"), filled=("/a", "/b")),
        Record("2", day[1], complete=True, sources=("/a",), filled=()),  # --allow-empty
        Record("3", day[2], complete=True, sources=("/c",), filled=("/c",)),
        Record("4", day[3], complete=False, sources=("/c",), filled=()),
    ]
    assert formerly_filled(records) == {"/b", "/c"}


async def test_without_any_source_nothing_is_made(bare: Scene) -> None:
    with pytest.raises(SourcesUnusableError, match="No such file"):
        await bare.back_up(bare.place / "nowhere")
    assert not bare.directory.exists()


@pytest.mark.parametrize("source", ["", "repository"])
async def test_the_repository_is_not_backed_up_into_itself(scene: Scene, source: str) -> None:
    with pytest.raises(UsageError, match="the repository itself"):
        await scene.back_up(scene.place / source)


async def test_a_link_to_a_source_is_followed(scene: Scene) -> None:
    link = scene.place / "link"
    link.symlink_to(scene.tree)
    made = await scene.back_up(link)
    assert made.counts.files_unmodified == 4
    assert made.snapshot.paths == (str(scene.tree),)


async def test_sockets_are_told(scene: Scene) -> None:
    """Restic drops them without a word."""
    source = scene.place / "source"
    (source / "deep").mkdir(parents=True)
    (source / "file").touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(source / "deep" / "s"))
        os.mkfifo(source / "pipe")
        made = await scene.back_up(source)
    assert made.dropped.count == 1
    assert made.dropped.names == (str(source / "deep" / "s"),)
    assert not made.is_partial


INCOMPLETE = """#!/bin/sh
case " $* " in
*" backup "*)
    restic "$@"
    echo '{"message_type":"error","error":{"message":"denied"},"during":"archival","item":"x"}' >&2
    exit 3;;
*" tag "*)
    [ -e "$0.free" ] || { touch "$0.%s"; echo 'repository is already locked' >&2; exit 1; };;
esac
exec restic "$@"
"""
"""Restic that could not read a file, in a repository that somebody else holds."""


def incomplete(scene: Scene, then: str) -> Scene:
    """Whoever waits for the lock gets it if ``then`` is ``free``."""
    program = scene.place / "incomplete"
    program.write_text(INCOMPLETE % then)
    program.chmod(0o755)
    return scene.having(program=str(program))


async def test_marking_a_partial_snapshot_waits_for_others(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restic wants the repository alone for that."""
    monkeypatch.setattr(object_backup, "MARK_PAUSE", 0.01)
    made = await incomplete(scene, "free").back_up()
    assert made.snapshot.is_partial
    assert made.left.problems == (f"{scene.tree.parent / 'x'}: denied",)


async def test_a_partial_snapshot_without_a_mark_is_told_and_never_drilled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases 43 and 52: the ledger knows what the tag should have said."""
    monkeypatch.setattr(object_backup, "MARK_PATIENCE", 0.0)
    (complete,) = await scene.snapshots()
    made = await incomplete(scene, "never").back_up()
    assert made.is_partial
    assert made.left.problems[0].startswith("not marked as partial")
    drilled = await drill_objects(ObjectDrill(scene.place / "drills", timeout=120), scene.archive)
    assert drilled.success, drilled.detail
    assert drilled.source == complete.id


async def test_the_password_is_no_argument(scene: Scene) -> None:
    """And a home is not needed, nor is what restic says without one taken for a result."""
    seen = scene.place / "seen"
    program = scene.place / "restic"
    program.write_text(
        f'#!/bin/sh\nunset HOME XDG_CACHE_HOME RESTIC_CACHE_DIR\necho "$@" >>{seen}\n'
        f'exec {shutil.which("restic")} "$@"\n'
    )
    program.chmod(0o755)
    watched = scene.having(program=str(program))
    await watched.back_up()
    calls = seen.read_text()
    assert watched.archive.repository.password not in calls
    assert "backup --json" in calls
    assert watched.archive.repository.password not in repr(watched.archive)


def test_what_restic_says_of_files_is_told_from_everything_else() -> None:
    """In the words of 0.14 and of 0.18."""
    words = Words()
    for line in (
        "unable to open cache: neither $XDG_CACHE_HOME nor $HOME are defined",
        '{"message_type":"error","error":{},"during":"scan","item":"/src/closed"}',
        '{"message_type":"error","error":{},"during":"archival","item":"src/closed"}',
        '{"message_type":"error","error":{"Op":"open","Path":"src/a","Err":13},'
        '"during":"archival","item":"/src/a"}',
        '{"message_type":"error","error":{"message":"b: denied"},"during":"archival","item":"b"}',
        '{"message_type":"exit_error","code":3,"message":"Warning: at least one source file"}',
        "{not JSON",
    ):
        words.take(line)
    assert [str(each) for each in words.problems] == [
        "src/closed",
        "/src/a: Permission denied",
        "b: b: denied",
    ]
    assert words.count == 3
    assert [line.split(":")[0] for line in words.lines] == [
        "unable to open cache",
        "Warning",
        "{not JSON",
    ]


async def test_no_program_and_no_password(scene: Scene) -> None:
    with pytest.raises(LeitstandError) as caught:
        await scene.having(program="/nowhere/restic").back_up()
    assert caught.value.code == "RESTIC_MISSING"
    with pytest.raises(UsageError) as refused:
        await scene.having(password="").back_up()
    assert refused.value.code == "OBJECT_PASSWORD_MISSING"
    with pytest.raises(LeitstandError) as wrong:
        await scene.having(password="wrong").back_up()
    assert wrong.value.code == "OBJECT_PASSWORD_WRONG"


async def test_a_program_that_is_something_else(scene: Scene, tmp_path: Path) -> None:
    for said, expected in (("hello", "does not say"), ("restic 0.9.6 compiled", "0.14 is needed")):
        program = tmp_path / "restic"
        program.write_text(f"#!/bin/sh\necho {said}\n")
        program.chmod(0o755)
        with pytest.raises(LeitstandError, match=expected):
            await scene.having(program=str(program)).back_up()
