"""Extraction: everything arrives, mapped and with its modes, and nothing gets out of the target."""

import os
import resource
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leitstand.archive.hindrance import UnwritableError
from leitstand.archive.postgres.archive_pass import ArchivePass
from leitstand.archive.postgres.extract import (
    ExtractError,
    Extractor,
    Targets,
    extract_verified,
)
from leitstand.archive.postgres.manifest_check import NEEDED_DIRECTORIES
from leitstand.archive.postgres.stage import BASE, MANIFEST, WAL
from leitstand.archive.postgres.tar_stream import TarError
from tests.archive.postgres.backup_scene import ODD_NAME, Scene
from tests.archive.postgres.damage import archive_damages, stage_paths
from tests.archive.postgres.tar_writer import Member, tar, write_gz
from tests.archive.postgres.test_tar_stream import ATTACKS

ROOM, OID = "16384.tar.gz", 16384
"""The scene's only tablespace: the first object that a new cluster is asked to create."""


def tree(top: Path) -> dict[bytes, tuple[str, bytes]]:
    """Every path below ``top`` with its mode and content; links are not followed."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            path = os.path.join(folder, name)
            mode = stat.filemode(os.lstat(path).st_mode)
            content = Path(os.fsdecode(path)).read_bytes() if mode[0] == "-" else b""
            found[os.path.relpath(path, os.fsencode(top))] = (mode, content)
    return found


def targets(top: Path, *, with_wal: bool = True) -> Targets:
    """Fresh directories for a stage of the scene."""
    for name in ("base", "room"):
        (top / name).mkdir(mode=0o700)
    return Targets(top / "base", {OID: top / "room"}, with_wal=with_wal)


def extract(archive: Path, target: Path) -> None:
    """Extract one archive alone; raises what makes it impossible."""
    reading = ArchivePass(archive, lambda _: None)
    with Extractor(target) as extractor:
        reading.run([extractor], lambda _: 1 << 20)
    if reading.damage is not None:
        raise reading.damage


@pytest.mark.parametrize("number", range(3))
def test_a_stage_arrives_whole(scene: Scene, tmp_path: Path, number: int) -> None:
    """Names that are not UTF-8, empty directories, modes, WAL and a tablespace."""
    stage = stage_paths(scene.generation)[number]
    read = 0

    def count(_: str, size: int) -> None:
        nonlocal read
        read += size

    done = extract_verified(stage, targets(tmp_path), scene.binaries, count)
    assert done.findings == ()
    assert read == done.bytes_read
    base, room = tree(tmp_path / "base"), tree(tmp_path / "room")
    assert set(NEEDED_DIRECTORIES) <= set(base)
    assert base[ODD_NAME][1] == b"odd"
    assert {mode for mode, _ in base.values() if mode[0] == "d"} == {"drwx------"}
    for archive, arrived in ((BASE, base), (ROOM, room)):
        with tarfile.open(stage / archive, errors="surrogateescape") as packed:
            for member in packed:
                name = os.fsencode(member.name.removeprefix("./"))
                if member.isfile():
                    content = packed.extractfile(member)
                    assert content is not None
                    assert arrived.pop(name)[1] == content.read()
    assert not any(mode[0] == "-" for mode, _ in room.values())
    assert {name.split(b"/")[0] for name, (mode, _) in base.items() if mode[0] == "-"} == {
        b"pg_wal"
    }


def test_postgres_agrees_on_what_arrived(scene: Scene, tmp_path: Path) -> None:
    """pg_verifybackup reads plain directories well: files, sizes, checksums and WAL."""
    stage = stage_paths(scene.generation)[0]
    into = targets(tmp_path)
    extract_verified(stage, into, scene.binaries)
    shutil.copy(stage / MANIFEST, into.base / MANIFEST)
    (into.base / "pg_tblspc" / str(OID)).symlink_to(tmp_path / "room")
    command = [scene.binaries.path("pg_verifybackup"), str(into.base)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_wal_can_be_checked_without_being_extracted(scene: Scene, tmp_path: Path) -> None:
    stage = stage_paths(scene.generation)[1]
    done = extract_verified(stage, targets(tmp_path, with_wal=False), scene.binaries)
    assert done.ok
    assert not any(len(path.name) == 24 for path in (tmp_path / "base" / "pg_wal").iterdir())


@pytest.mark.parametrize("with_wal", [True, False])
@pytest.mark.parametrize("archive", [BASE, WAL, ROOM])
def test_damage_is_in_the_report(
    scene: Scene, generation: Path, tmp_path: Path, archive: str, with_wal: bool
) -> None:
    """Case 4: the extracted files of a damaged stage must not be used."""
    stage = stage_paths(generation)[2]
    removal = next(d for d in archive_damages(archive) if d.id == "member removed")
    removal.apply(stage, stage)
    done = extract_verified(stage, targets(tmp_path, with_wal=with_wal), scene.binaries)
    assert not done.ok
    assert {finding.file for finding in done.findings} == {archive}


def test_a_tablespace_needs_a_directory(scene: Scene, tmp_path: Path) -> None:
    """Case 17: nothing is put in the original place instead."""
    stage = scene.generation / "full"
    into = targets(tmp_path)
    with pytest.raises(ExtractError, match="no directory was given for the tablespace 16384"):
        extract_verified(stage, Targets(into.base, {}, with_wal=True), scene.binaries)


@pytest.mark.parametrize("members", ATTACKS.values(), ids=ATTACKS.keys())
def test_nothing_gets_out(tmp_path: Path, members: list[Member]) -> None:
    """Case 61: rejected, and nothing exists outside the target that did not before."""
    target = tmp_path / "one" / "two" / "target"
    target.mkdir(parents=True)
    write_gz(tmp_path / "evil.tar.gz", tar([Member(b"good", b"1"), *members]))
    before = tree(tmp_path)
    with pytest.raises(TarError):
        extract(tmp_path / "evil.tar.gz", target)
    after = tree(tmp_path)
    inside = os.fsencode(target.relative_to(tmp_path)) + b"/"
    assert {k: v for k, v in after.items() if not k.startswith(inside)} == before
    assert {mode[0] for mode, _ in after.values()} <= {"-", "d"}
    assert after[inside + b"good"] == ("-rw-------", b"1")


def test_links_in_the_target_are_not_followed(tmp_path: Path) -> None:
    """Somebody else's link, made between two steps, leads nowhere."""
    target, outside = tmp_path / "target", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "base").symlink_to(outside)
    (target / "file").symlink_to(outside / "file")
    for member in (Member(b"base/1"), Member(b"base", kind=b"5"), Member(b"file", b"x")):
        write_gz(tmp_path / "some.tar.gz", tar([member]))
        with pytest.raises(ExtractError, match="cannot be written below"):
            extract(tmp_path / "some.tar.gz", target)
    assert list(outside.iterdir()) == []
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(ExtractError, match="cannot be opened"):
        extract(tmp_path / "some.tar.gz", tmp_path / "link")


def test_modes_are_kept_as_far_as_postgres_allows(tmp_path: Path) -> None:
    """Case 60: group access (initdb -g) stays; set-user-id, write access for others does not."""
    modes = {b"private": 0o600, b"group": 0o640, b"open": 0o4777, b"closed": 0o000}
    members = [Member(name, b"x", mode=mode) for name, mode in modes.items()]
    members += [
        Member(b"folder", kind=b"5", mode=0o750),
        Member(b"empty", kind=b"5", mode=0o700),
        Member(b"implied/inner/file", b"x"),
    ]
    write_gz(tmp_path / "some.tar.gz", tar(members))
    target = tmp_path / "target"
    target.mkdir()
    old = os.umask(0)
    try:
        extract(tmp_path / "some.tar.gz", target)
    finally:
        os.umask(old)
    assert {name: mode for name, (mode, _) in tree(target).items()} == {
        b"private": "-rw-------",
        b"group": "-rw-r-----",
        b"open": "-rw-r-----",
        b"closed": "-rw-------",
        b"folder": "drwxr-x---",
        b"empty": "drwx------",
        b"implied": "drwx------",
        b"implied/inner": "drwx------",
        b"implied/inner/file": "-rw-------",
    }


def test_what_exists_is_not_overwritten(tmp_path: Path) -> None:
    """Case 55."""
    write_gz(tmp_path / "some.tar.gz", tar([Member(b"file", b"new")]))
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").write_text("old")
    with pytest.raises(ExtractError, match=r"file cannot be written below .*: File exists"):
        extract(tmp_path / "some.tar.gz", target)
    assert (target / "file").read_text() == "old"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Writes beyond ``size`` bytes fail, as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_full_disk_is_no_fault_of_the_backup(scene: Scene, tmp_path: Path) -> None:
    """Case 43: the error names the file and the reason."""
    stage = scene.generation / "full"
    with file_size_limit(4096), pytest.raises(UnwritableError, match="file too large"):
        extract_verified(stage, targets(tmp_path), scene.binaries)
