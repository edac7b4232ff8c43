"""The list of generations is right, and nothing that lies in the directory breaks it."""

import json
import os
import shutil
from pathlib import Path

import pytest

from leitstand.archive.postgres.catalogue import (
    GenerationState,
    list_generations,
    read_generation,
)
from leitstand.archive.postgres.stage import BASE, MANIFEST, SIDECAR
from leitstand.errors import NotFoundError
from tests.archive_scene import Archive


def test_a_complete_generation(archive: Archive) -> None:
    newest = archive.newest
    shown = json.loads(json.dumps(newest.as_dict()))
    assert shown["state"] == "complete"
    assert shown["findings"] == []
    assert shown["verified_at"] is not None
    assert shown["drilled_at"] is None
    assert shown["size"] == sum(
        path.stat().st_size for path in newest.path.rglob("*/*") if path.is_file()
    )
    chain = [newest.id, *(increment["id"] for increment in shown["increments"])]
    assert [increment["parent"] for increment in shown["increments"]] == chain[:-1]
    assert shown["started_at"] < shown["finished_at"]


def test_times_of_files_mean_nothing(archive: Archive) -> None:
    before = archive.generations
    for path in archive.directory.rglob("*"):
        os.utime(path, (0, 0))
    assert archive.generations == before


def test_what_is_no_generation_is_passed_over(archive: Archive) -> None:
    """Case 11."""
    before = archive.generations
    for name in ("lost+found", ".tmp-20260101T000000Z", "20260101T000000", "20260101T000000Z.old"):
        (archive.directory / name / "full").mkdir(parents=True)
    for name in ("20269912T000000Z", "20270229T000000Z"):
        (archive.directory / name / "full").mkdir(parents=True)
    with open(os.fsencode(archive.directory) + b"/2026\xff01T000000Z", "w"):
        pass
    (archive.newest.path / "incremental" / "notes.txt").write_text("mine")
    assert archive.generations == before


@pytest.mark.parametrize("name", [BASE, MANIFEST])
def test_a_missing_file(archive: Archive, name: str) -> None:
    (archive.newest.path / "full" / name).unlink()
    assert archive.newest.state is GenerationState.DAMAGED
    assert (archive.newest.findings[0].stage, archive.newest.findings[0].file) == ("full", name)


def test_a_file_that_was_cut(archive: Archive) -> None:
    os.truncate(archive.newest.increments[2].path / BASE, 100)
    assert archive.newest.state is GenerationState.DAMAGED


def test_a_gap(archive: Archive) -> None:
    """Cases 6 and 11: the parent of an increment is missing."""
    shutil.rmtree(archive.newest.increments[1].path)
    newest = archive.newest
    assert newest.state is GenerationState.DAMAGED
    assert {finding.stage for finding in newest.findings} == {newest.increments[1].name}


def test_no_full_backup(archive: Archive) -> None:
    """Case 7."""
    shutil.rmtree(archive.newest.path / "full")
    assert archive.newest.state is GenerationState.INCOMPLETE
    assert archive.newest.started_at is None
    json.dumps(archive.newest.as_dict())


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_a_record_that_is_none(archive: Archive, content: bytes) -> None:
    """Case 32."""
    (archive.newest.path / "full" / SIDECAR).write_bytes(content)
    assert archive.newest.state is GenerationState.INCOMPLETE


def test_no_directory_is_an_empty_catalogue(tmp_path: Path) -> None:
    assert list_generations(tmp_path / "nowhere") == ()


@pytest.mark.parametrize("name", ["20200101T000000Z", "..", "", "full"])
def test_an_unknown_generation(archive: Archive, name: str) -> None:
    with pytest.raises(NotFoundError):
        read_generation(archive.directory, name)
