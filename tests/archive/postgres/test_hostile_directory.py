"""Whatever lies in a backup directory: it hangs nothing, hides nothing, and is never written to."""

import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leitstand.archive.postgres.backup import TEMPORARY, take_full, take_incremental
from leitstand.archive.postgres.backup_id import BackupIdError
from leitstand.archive.postgres.basebackup import IncrementalNeedsFullError
from leitstand.archive.postgres.catalogue import GenerationState, newest_of
from leitstand.archive.postgres.checks import CHECKS
from leitstand.archive.postgres.finding import FindingKind
from leitstand.archive.postgres.materialise import GenerationDamagedError, stages_upto
from leitstand.archive.postgres.retention import Policy
from leitstand.archive.postgres.rotate import REMOVED_PREFIX, rotate
from leitstand.archive.postgres.stage import BASE, MANIFEST, SIDECAR
from leitstand.archive.postgres.verify import verify_generation
from leitstand.errors import NotFoundError
from tests.archive_scene import Archive

FUTURE = "29990101T000000Z"
END = "99991231T235959Z"
HUGE = 5 << 30


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


def directory(path: Path) -> None:
    path.mkdir()


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE)


STRANGE = [fifo, unix_socket, directory, link_to_zeros]


@pytest.fixture
def outside(short_dir: Path) -> Iterator[Path]:
    """A directory that no link may lead us to; unchanged in the end."""
    place = short_dir / "outside"
    (place / "incremental" / f"{TEMPORARY}20260101T000000Z").mkdir(parents=True)
    (place / "precious").write_text("mine")
    before = sorted(place.rglob("*"))
    yield place
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("name", [SIDECAR, MANIFEST, BASE, CHECKS])
def test_strange_files_are_findings(
    archive: Archive, name: str, strange: Callable[[Path], None]
) -> None:
    generation = archive.newest.path
    path = (generation if name == CHECKS else generation / "full") / name
    path.unlink()
    strange(path)
    assert name in {finding.file for finding in archive.newest.findings}
    with pytest.raises(IncrementalNeedsFullError):
        take_incremental(archive.repository)
    if name != CHECKS:
        verdict = verify_generation(generation, archive.repository.binaries)
        found = [finding for finding in verdict.findings if finding.file == name]
        assert found[0].kind is FindingKind.UNREADABLE


@pytest.mark.parametrize("name", [SIDECAR, MANIFEST])
def test_huge_files_are_findings_and_not_read(archive: Archive, name: str) -> None:
    path = archive.newest.path / "full" / name
    path.unlink()
    huge(path)
    archive.generations  # noqa: B018 - listing must not read it
    verdict = verify_generation(archive.newest.path, archive.repository.binaries)
    problems = {finding.file: finding.problem for finding in verdict.findings}
    assert problems[name].startswith(f"it has {HUGE} bytes, more than ")


def test_a_huge_history_of_checks_is_read_from_its_end(archive: Archive) -> None:
    path = archive.newest.path / CHECKS
    noted = path.read_bytes()
    os.truncate(path, HUGE)
    with path.open("ab") as file:
        file.write(b"\n" + noted)
    assert archive.newest.verified_at is not None


@pytest.mark.parametrize("make", [directory, fifo, link_to_zeros])
def test_what_holds_no_backup_hides_none(archive: Archive, make: Callable[[Path], None]) -> None:
    before = archive.newest
    make(archive.directory / FUTURE)
    stranger = archive.newest
    assert (stranger.id, stranger.state) == (FUTURE, GenerationState.INCOMPLETE)
    assert stranger.findings
    newest = newest_of(archive.generations)
    assert newest == before
    taken = take_incremental(archive.repository)
    assert (taken.generation, taken.id) == (before.id, "29990101T000001Z")
    rotate(archive.directory, Policy(keep=1))
    assert os.path.lexists(archive.directory / FUTURE)


def test_half_a_copy_hides_no_backup(archive: Archive) -> None:
    """A copy that broke off: archives, but neither manifest nor record, which come last."""
    half = archive.directory / FUTURE / "full"
    half.mkdir(parents=True)
    shutil.copy(archive.generations[0].path / "full" / BASE, half)
    newest = newest_of(archive.generations)
    assert newest is not None
    assert newest.id == archive.generations[0].id


def test_a_damaged_generation_is_still_the_newest(archive: Archive) -> None:
    """Nobody may take an older one instead without a word."""
    taken = take_full(archive.repository)
    (archive.directory / taken.id / "full" / SIDECAR).unlink()
    newest = newest_of(archive.generations)
    assert newest is not None
    assert newest.id == taken.id


def test_no_generation_at_all_and_only_empty_ones(archive: Archive) -> None:
    assert newest_of(()) is None
    shutil.rmtree(archive.newest.path)
    (archive.directory / FUTURE).mkdir()
    assert newest_of(archive.generations) == archive.newest
    with pytest.raises(IncrementalNeedsFullError, match="the full backup does not exist"):
        take_incremental(archive.repository)


def test_an_empty_directory_at_the_end_of_time_blocks_nothing(archive: Archive) -> None:
    before = archive.newest.id
    (archive.directory / END).mkdir()
    (archive.directory / before / "incremental" / "99991231T235958Z").mkdir()
    taken = take_full(archive.repository)
    assert before < taken.id < FUTURE


def test_a_backup_at_the_end_of_time_is_named(archive: Archive) -> None:
    archive.newest.path.rename(archive.directory / END)
    with pytest.raises(BackupIdError, match=END) as caught:
        take_full(archive.repository)
    assert "out of the backup directory" in str(caught.value.remedy)


def test_a_generation_that_is_a_link(archive: Archive, outside: Path) -> None:
    link = archive.directory / "20200101T000000Z"
    link.symlink_to(outside)
    listed = archive.generations[0]
    assert [finding.problem for finding in listed.findings] == [
        "it is a link, which is not followed"
    ]
    verdict = verify_generation(link, archive.repository.binaries)
    assert (verdict.ok, verdict.findings) == (False, listed.findings)
    take_incremental(archive.repository)
    decisions = rotate(archive.directory, Policy(keep=1)).plan.decisions
    assert decisions[0].keep
    assert "no readable record" in decisions[0].reasons[0]
    assert link.is_symlink()


def test_a_link_that_rotation_renamed_once(archive: Archive, outside: Path) -> None:
    """It does not fail for ever, and what it leads to stays."""
    link = archive.directory / f"{REMOVED_PREFIX}20200101T000000Z"
    link.symlink_to(outside)
    assert not rotate(archive.directory, Policy()).failures
    assert not os.path.lexists(link)


@pytest.mark.parametrize("what", ["full", "incremental", "increment"])
def test_links_in_a_generation_are_findings(archive: Archive, what: str, outside: Path) -> None:
    generation = archive.newest
    places = {
        "full": generation.path / "full",
        "incremental": generation.path / "incremental",
        "increment": generation.increments[-1].path,
    }
    shutil.rmtree(places[what])
    places[what].symlink_to(outside)
    found = verify_generation(generation.path, archive.repository.binaries).findings
    links = [f for f in found if f.problem.endswith("is a link, which is not followed")]
    assert len(links) == 1
    assert links[0] in archive.newest.findings
    with pytest.raises((GenerationDamagedError, NotFoundError), match=r"link|damaged"):
        stages_upto(generation.path, None)
    with pytest.raises(IncrementalNeedsFullError):
        take_incremental(archive.repository)


def test_a_stage_before_a_link_can_be_restored(archive: Archive, outside: Path) -> None:
    *others, last = archive.newest.stages
    shutil.rmtree(last.path)
    last.path.symlink_to(outside)
    assert stages_upto(archive.newest.path, others[-1].path.name) == [s.path for s in others]
    assert stages_upto(archive.newest.path, "full") == [others[0].path]


def test_the_backup_directory_may_be_a_link(archive: Archive) -> None:
    real = archive.directory.with_name("elsewhere")
    archive.directory.rename(real)
    archive.directory.symlink_to(real)
    take_incremental(archive.repository)
    taken = take_full(archive.repository)
    done = rotate(archive.directory, Policy(keep=1))
    assert not done.failures
    assert [generation.id for generation in archive.generations] == [taken.id]


def test_a_closed_generation_is_listed(archive: Archive) -> None:
    """For root nothing is closed; for others it is a finding, and still the newest."""
    path = archive.newest.path
    path.chmod(0)
    try:
        listed = archive.newest
        assert listed.id == path.name
        newest = newest_of(archive.generations)
        assert newest == listed
        if os.geteuid() != 0:
            assert "Permission denied" in listed.findings[0].problem
    finally:
        path.chmod(stat.S_IRWXU)
