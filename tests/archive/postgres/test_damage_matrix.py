"""Each damage of the matrix in each stage is found, with and without digests, in bounded time.

Beside it the same damage through ``pg_verifybackup``; conftest.py prints the comparison at the end.
"""

import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leitstand.archive.postgres.chain import check_chain
from leitstand.archive.postgres.finding import Finding, FindingKind, shown
from leitstand.archive.postgres.label import parse_tablespace_map
from leitstand.archive.postgres.manifest import parse_manifest
from leitstand.archive.postgres.stage import BASE, MANIFEST, SIDECAR, WAL
from leitstand.archive.postgres.verify import VerifyProgress, verify_generation, verify_stage
from leitstand.errors import NotFoundError
from leitstand.store.binaries import embedded_binaries
from tests.archive.postgres.backup_scene import ODD_NAME, Scene, small_files
from tests.archive.postgres.conftest import COMPARISON
from tests.archive.postgres.damage import (
    Damage,
    archive_damages,
    damages,
    exchange_increments,
    forget_records,
    remove_middle,
    replace,
    stage_paths,
)
from tests.archive.postgres.tar_writer import write_gz

BOUND = 20.0
"""Seconds that a verification of this small generation may take at the very most (it takes 0.2)."""
PG_VERIFYBACKUP_PATIENCE = 1.0
"""Seconds for pg_verifybackup on a damaged stage; a sound one takes 0.1, a loop takes for ever."""

_NOBODY = Scene(Path(), Path(), "16384.tar.gz", embedded_binaries())
MATRIX = damages(_NOBODY)
STAGES = ("full", "first increment", "last increment")


def pg_verifybackup(stage: Path, scene: Scene, patience: float) -> str:
    (stage / SIDECAR).unlink(missing_ok=True)  # it refuses unknown files beside the archives
    command = [scene.binaries.path("pg_verifybackup"), "-n", str(stage)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return "LOOPS"
    return "found" if done.returncode else "VERIFIED"


def other_stage(scene: Scene, number: int) -> Path:
    return stage_paths(scene.other)[min(number, 1)]


def telling(findings: tuple[Finding, ...], stage: str, damage: Damage) -> list[Finding]:
    return [
        f
        for f in findings
        if f.stage == stage and f.file == damage.file and re.search(damage.problem, f.problem)
    ]


@pytest.mark.parametrize("number", range(3), ids=STAGES)
@pytest.mark.parametrize("damage", MATRIX, ids=lambda d: f"{d.file}: {d.id}")
def test_every_damage_is_found(
    scene: Scene,
    generation: Path,
    damage: Damage,
    number: int,
    record_property: Callable[[str, object], None],
) -> None:
    """Case 1 and the damage matrix: with the recorded digests, and without any record."""
    stage = stage_paths(generation)[number]
    damage.apply(stage, other_stage(scene, number))
    began = time.monotonic()
    verdict = verify_generation(generation, scene.binaries)
    assert not verdict.ok
    name = "full" if number == 0 else f"incremental/{stage.name}"
    assert telling(verdict.findings, name, damage), verdict.findings
    assert {f.stage for f in verdict.findings if f.kind is not FindingKind.CHAIN} == {name}
    assert len(verdict.stages) == 3

    forget_records(generation)
    alone = verify_stage(stage, scene.binaries)
    assert telling(alone.findings, name, damage), alone.findings
    assert time.monotonic() - began < BOUND
    if number == 0:
        theirs = pg_verifybackup(stage, scene, PG_VERIFYBACKUP_PATIENCE)
        ours = telling(verdict.findings, name, damage)[0].problem
        record_property(COMPARISON, (f"{damage.file}: {damage.id}", theirs, ours))


def test_sound_generation_passes_both(scene: Scene, generation: Path) -> None:
    """A generation with odd names, empty and unlogged tables, large objects, tablespaces."""
    seen: list[VerifyProgress] = []
    verdict = verify_generation(generation, scene.binaries, seen.append)
    assert (verdict.ok, verdict.findings, verdict.notes) == (True, (), ())
    total = sum(f.stat().st_size for f in generation.rglob("*") if f.is_file())
    records = sum(f.stat().st_size for f in generation.rglob(SIDECAR))
    assert verdict.bytes_read == total - records
    assert seen[0].bytes_total == total
    assert verify_generation(scene.other, scene.binaries).ok
    for stage in stage_paths(generation):
        assert pg_verifybackup(stage, scene, 60) == "VERIFIED"


def test_scene_is_as_awkward_as_it_should_be(scene: Scene) -> None:
    """The sound generation really holds what the matrix speaks of."""
    full = scene.generation / "full"
    manifest = parse_manifest((full / MANIFEST).read_bytes())
    assert ODD_NAME in manifest.files
    assert any(path.endswith(b"_init") for path in manifest.files)
    assert 0 in {file.size for path, file in manifest.files.items() if path.startswith(b"base/5/")}
    mapped = parse_tablespace_map(small_files(full / BASE)[b"tablespace_map"])
    assert [b" " in place for place in mapped.values()] == [True]
    last = parse_manifest((stage_paths(scene.generation)[2] / MANIFEST).read_bytes())
    assert any(b"INCREMENTAL." in path for path in last.files)


def test_generation_without_records_passes_with_notes(scene: Scene, generation: Path) -> None:
    forget_records(generation)
    verdict = verify_generation(generation, scene.binaries)
    assert verdict.ok
    assert [(n.file, n.kind) for n in verdict.notes] == [(SIDECAR, FindingKind.UNPROVEN)] * 3


@pytest.mark.parametrize("records", [True, False], ids=["records", "no records"])
@pytest.mark.parametrize("change", [remove_middle, exchange_increments])
def test_broken_chain_is_found(
    scene: Scene, generation: Path, change: object, records: bool
) -> None:
    """Case 6 and the damage matrix: a middle increment removed, two exchanged."""
    assert callable(change)
    change(generation)
    if not records:
        forget_records(generation)
    verdict = verify_generation(generation, scene.binaries)
    chain = [f for f in verdict.findings if f.kind is FindingKind.CHAIN]
    assert {f.file for f in chain} >= {"base.tar.gz:backup_label"}
    assert ({f.file for f in chain} >= {SIDECAR}) == records
    assert set(verdict.findings) == set(chain)


def test_changed_record_is_found(scene: Scene, generation: Path) -> None:
    record = generation / "full" / SIDECAR
    replace(record, record.read_bytes().replace(b'"timeline": 1', b'"timeline": 2'))
    (finding,) = verify_generation(generation, scene.binaries).findings
    assert (finding.stage, finding.file) == ("full", SIDECAR)
    assert "its checksum does not match" in finding.problem


def test_record_of_another_backup_is_found(scene: Scene, generation: Path) -> None:
    """It is at odds with everything beside it, and with the name of the generation."""
    replace(generation / "full" / SIDECAR, (scene.other / "full" / SIDECAR).read_bytes())
    found = [f for f in verify_generation(generation, scene.binaries).findings if f.stage == "full"]
    assert {f.file for f in found} == {BASE, WAL, scene.tablespace, MANIFEST, SIDECAR}
    problems = " / ".join(f.problem for f in found)
    assert "it is not the manifest of this backup" in problems
    assert "its backup starts at" in problems
    assert f"it belongs to the generation {scene.other.name}" in problems


@pytest.mark.parametrize("name", ["99.tar.gz", "base2.tar.gz", "\u00b2.tar.gz"])
def test_archive_of_no_tablespace_is_found(scene: Scene, generation: Path, name: str) -> None:
    (generation / "full" / name).write_bytes(b"")
    found = verify_generation(generation, scene.binaries).findings
    problem = "it belongs to no tablespace of this backup"
    assert Finding("full", name, problem, FindingKind.UNEXPECTED) in found
    assert {f.file for f in found} == {name}


def test_member_missing_from_the_last_increment(scene: Scene, generation: Path) -> None:
    """Case 4: PostgreSQL's programs combine such a set without a word."""
    stage = stage_paths(generation)[2]
    removal = next(d for d in archive_damages(BASE) if d.id == "member removed")
    removal.apply(stage, stage)
    verdict = verify_generation(generation, scene.binaries)
    assert any("is in the manifest, but not in the archive" in f.problem for f in verdict.findings)


def test_missing_wal_archive(scene: Scene, generation: Path) -> None:
    """Case 13: pg_verifybackup -n says "successfully verified"."""
    stage = stage_paths(generation)[0]
    (stage / WAL).unlink()
    verdict = verify_generation(generation, scene.binaries)
    assert Finding("full", WAL, "it does not exist", FindingKind.MISSING) in verdict.findings
    assert pg_verifybackup(stage, scene, 60) == "VERIFIED"


@pytest.mark.parametrize("cut", [1, 4, 8, 9, 1000, 100_000, "all but 1", "all but 12"])
def test_truncated_base(scene: Scene, generation: Path, cut: int | str) -> None:
    """Case 15: at several offsets, the last 8 bytes among them."""
    base = stage_paths(generation)[1] / BASE
    content = base.read_bytes()
    keep = len(content) - cut if isinstance(cut, int) else int(cut.split()[-1])
    replace(base, content[:keep])
    (base.parent / SIDECAR).unlink()
    found = verify_stage(base.parent, scene.binaries).findings
    assert any(f.file == BASE and "it ends inside" in f.problem for f in found), found


@pytest.mark.parametrize("tail", [b"\0" * 8, b"garbage!", "member"], ids=["zeros", "text", "gzip"])
def test_trailing_bytes(scene: Scene, generation: Path, tail: bytes | str) -> None:
    """Case 27: found at once, where pg_verifybackup loops for ever."""
    base = stage_paths(generation)[0] / BASE
    content = base.read_bytes()
    replace(base, content + (tail if isinstance(tail, bytes) else content))
    (base.parent / SIDECAR).unlink()
    began = time.monotonic()
    found = verify_stage(base.parent, scene.binaries).findings
    assert [f.file for f in found if "follow" in f.problem] == [BASE]
    assert time.monotonic() - began < BOUND / 4


def test_bomb_ends_soon(scene: Scene, generation: Path) -> None:
    """A gigabyte of zeros behind the end marker is not unpacked."""
    base = stage_paths(generation)[0] / BASE
    write_gz(base, bytes(1 << 28))
    began = time.monotonic()
    found = verify_stage(base.parent, scene.binaries).findings
    assert any("too many zeros" in f.problem for f in found if f.file == BASE), found
    assert time.monotonic() - began < BOUND / 4


def test_unreadable_is_not_damaged(scene: Scene, generation: Path) -> None:
    """A directory or a link in an archive's place, also for root, who may read everything."""
    full, first, _ = stage_paths(generation)
    (full / WAL).unlink()
    (full / WAL).mkdir()
    (first / BASE).unlink()
    (first / BASE).symlink_to(scene.generation / "full" / BASE)
    found = verify_generation(generation, scene.binaries).findings
    base = [f for f in found if f.file == BASE]
    assert {f.kind for f in found} == {FindingKind.UNREADABLE}
    assert base[0].problem == "it cannot be opened: it is a link"
    assert "could not be reached" in base[1].problem


def test_stage_that_vanishes_meanwhile(scene: Scene, generation: Path) -> None:
    """A rotation removes the generation while it is verified: findings, no crash."""
    gone = False

    def rotate(_: VerifyProgress) -> None:
        nonlocal gone
        if not gone:
            gone = True
            remove_middle(generation)
            (generation / "full" / WAL).unlink()

    verdict = verify_generation(generation, scene.binaries, rotate)
    missing = {(f.stage, f.file) for f in verdict.findings if f.kind is FindingKind.MISSING}
    assert ("full", WAL) in missing
    assert any(stage.startswith("incremental/") for stage, _ in missing)


def test_progress_may_end_the_work(scene: Scene) -> None:
    """As a job does that is cancelled: nothing is left running."""

    def cancel(_: VerifyProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify_generation(scene.generation, scene.binaries, cancel)
    assert "read-ahead" not in {thread.name for thread in threading.enumerate()}


def test_missing_full_and_absent_generation(scene: Scene, generation: Path) -> None:
    (generation / "full").rename(generation / "elsewhere")
    verdict = verify_generation(generation, scene.binaries)
    missing = Finding("full", "", "the full backup does not exist", FindingKind.MISSING)
    assert missing in verdict.findings
    with pytest.raises(NotFoundError):
        verify_generation(generation.parent / "20200101T000000Z", scene.binaries)


def test_stage_of_another_system_is_told_apart(scene: Scene, generation: Path) -> None:
    """The reports of single stages are enough to check a chain, as after a backup."""
    reports = [verify_stage(p, scene.binaries) for p in stage_paths(generation)]
    assert check_chain([r.facts for r in reports]) == ()
    assert check_chain([reports[0].facts, reports[2].facts]) != ()
    assert shown(ODD_NAME) == "caf\\xe9 \\xff.dat"
