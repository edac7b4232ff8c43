"""The checker is checked: planted damage is found, and a blind checker is found out."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from leitstand.archive import (
    ArchiveSettings,
    DrillSettings,
    Policy,
    Selftest,
    SelftestLedger,
    SelftestMetrics,
    run_selftest,
)
from leitstand.archive.checker.planted_damage import plantable
from leitstand.archive.checker.run_selftest import PREFIX, SelftestImpossibleError
from leitstand.archive.checker.selftest_kind import CheckerMissedDamageError, require_found
from leitstand.archive.hindrance import UnwritableError
from leitstand.archive.postgres.catalogue import list_generations
from leitstand.archive.postgres.finding import Finding
from leitstand.archive.postgres.stage import BASE
from leitstand.archive.postgres.verify import verify_stage
from leitstand.errors import NotFoundError
from leitstand.store.database import Database
from tests.archive.postgres.test_backup import flip
from tests.archive.postgres.test_extract import file_size_limit
from tests.archive_scene import Archive


@pytest.fixture
def settings(archive: Archive, short_dir: Path) -> ArchiveSettings:
    drill = DrillSettings(short_dir / "drills")
    return ArchiveSettings(archive.directory, short_dir / "log", 1, Policy(), drill)


def content(directory: Path) -> dict[Path, tuple[bytes, int]]:
    return {
        path: (path.read_bytes(), path.stat().st_ctime_ns)
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_every_damage_is_found(archive: Archive, settings: ArchiveSettings) -> None:
    """Each of the product's damages, once."""
    chance, stage = random.Random(7), archive.newest.stages[-1]
    copy = settings.directory.parent / "copy" / stage.path.relative_to(archive.directory)
    for damage, file in plantable(stage.path):
        shutil.copytree(stage.path, copy)
        damage.plant(copy, file, chance)
        found = verify_stage(copy, settings.binaries).findings
        assert found, f"{file}: {damage.name}"
        shutil.rmtree(copy)


def test_a_selftest_leaves_everything_as_it_was(
    archive: Archive, settings: ArchiveSettings
) -> None:
    before = content(archive.directory)
    done = run_selftest(settings, rounds=6, seed=3)
    assert done.success
    assert [bool(planted.found) for planted in done.planted] == [True] * 6
    assert content(archive.directory) == before
    assert not list((archive.directory.parent / "drills").glob(f"{PREFIX}*"))
    again = run_selftest(settings, rounds=6, seed=3)
    assert [p.sentence for p in again.planted] == [p.sentence for p in done.planted]


async def test_a_blind_checker_is_found_out(settings: ArchiveSettings, database: Database) -> None:
    """A miss has its own error, is on record and counted."""

    def blind(_: Path) -> Sequence[Finding]:
        return ()

    done = run_selftest(settings, rounds=2, seed=5, checker=blind)
    with pytest.raises(CheckerMissedDamageError, match="missed 2 of 2 planted damages") as caught:
        require_found(done)
    assert "seed 5" in str(caught.value.remedy)
    ledger = SelftestLedger(database)
    assert await values(ledger) == {"misses_total": 0, "last_success": -1}
    await ledger.record(done)
    (kept,) = await ledger.history()
    assert kept == done
    assert await values(ledger) == {"misses_total": 2, "last_success": 0}
    await ledger.record(Selftest(done.timestamp, done.stage, 1, ()))
    assert await values(ledger) == {"misses_total": 2, "last_success": 1}


async def values(ledger: SelftestLedger) -> dict[str, float]:
    families = await SelftestMetrics(ledger).collect()
    return {
        sample.name.removeprefix("backup_postgres_selftest_"): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("age_seconds")
    }


def test_a_selftest_without_room_says_so(settings: ArchiveSettings) -> None:
    with file_size_limit(1 << 12), pytest.raises(UnwritableError, match="file too large"):
        run_selftest(settings, 1, seed=1)


def test_what_is_damaged_already_is_no_test(archive: Archive, settings: ArchiveSettings) -> None:
    """Found out by the checker itself, before anything was planted."""
    for stage in archive.newest.stages:
        flip(stage.path / BASE, (stage.path / BASE).stat().st_size // 2)
    with pytest.raises(SelftestImpossibleError, match="is damaged"):
        run_selftest(settings, rounds=1, seed=1)
    for generation in list_generations(archive.directory):
        shutil.rmtree(generation.path)
    with pytest.raises(NotFoundError):
        run_selftest(settings, rounds=1, seed=1)
