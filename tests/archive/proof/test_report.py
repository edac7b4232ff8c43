"""The report finds each planted fault, and nothing else."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest

from leitstand.archive import (
    ArchiveSettings,
    BackupsSection,
    Drill,
    DrillKind,
    DrillLedger,
    DrillSettings,
    DrillsSection,
    ObjectivesSection,
    Planted,
    Policy,
    ProofReport,
    RetentionSection,
    Section,
    SectionReport,
    Selftest,
    SelftestLedger,
    SelftestSection,
    examine_sections,
    sealed,
)
from leitstand.archive.postgres.checks import Check, CheckKind, note_check
from leitstand.archive.postgres.stage import BASE
from leitstand.errors import LeitstandError
from leitstand.store.database import Database
from tests.archive.postgres.test_rotate import adopt
from tests.archive_scene import Archive

NOW = datetime.now(UTC)


class Scene:
    """An archive whose newest backup was drilled, with ledgers of its own."""

    def __init__(self, archive: Archive, database: Database) -> None:
        drill = DrillSettings(archive.directory.parent / "drills")
        self.archive = archive
        self.settings = ArchiveSettings(
            archive.directory, archive.directory.parent / "log", 1, Policy(keep=1), drill
        )
        self.drills = DrillLedger(database)
        self.selftests = SelftestLedger(database)

    async def drill(self, *, success: bool) -> None:
        newest = self.archive.newest
        stages, last = tuple(stage.name for stage in newest.stages), newest.stages[-1].path.name
        now = datetime.now(UTC)
        note_check(newest.path, Check(now, CheckKind.DRILL, success, stages))
        source = f"{newest.id}/{last}"
        await self.drills.record(Drill(now, DrillKind.DATABASE, source, success, "it says why"))

    async def selftest(self, found: str | None) -> None:
        planted = (Planted("a byte changed", BASE, found),)
        await self.selftests.record(Selftest(datetime.now(UTC), "g/full", 1, planted))

    @property
    def sections(self) -> list[Section]:
        return [
            BackupsSection(self.settings),
            DrillsSection(self.settings, self.drills),
            ObjectivesSection(self.settings, self.drills),
            RetentionSection(self.settings),
            SelftestSection(self.selftests),
        ]

    async def findings(self, later: timedelta = timedelta()) -> list[tuple[str, str]]:
        sections = await examine_sections(self.sections, datetime.now(UTC) + later)
        return [(each.name, found.problem) for each in sections for found in each.findings]


@pytest.fixture
async def scene(archive: Archive, database: Database) -> Scene:
    scene = Scene(archive, database)
    await scene.drill(success=True)
    await scene.selftest("it is seen")
    return scene


async def test_a_proven_installation_is_clean(scene: Scene) -> None:
    now = datetime.now(UTC)
    report = ProofReport(now, "host", "1", await examine_sections(scene.sections, now))
    assert report.clean
    document = sealed(report.as_dict())
    facts = {section["name"]: section["facts"] for section in document["sections"]}
    (generation,) = facts["postgres_backups"]["generations"]
    assert generation["state"] == "complete"
    assert (facts["postgres_drills"]["stages"], facts["postgres_drills"]["stages_drilled"]) == (
        4,
        1,
    )
    assert facts["postgres_retention"]["decisions"][0]["keep"] is True
    assert facts["checker_selftest"]["latest"]["planted"][0]["found"] == "it is seen"


async def test_each_fault_is_found_and_nothing_else(scene: Scene) -> None:
    await scene.drill(success=False)
    assert [name for name, _ in await scene.findings()] == ["postgres_drills", "objectives"]
    assert "its last drill failed: it says why" in (await scene.findings())[0][1]
    await scene.drill(success=True)

    await scene.selftest(None)
    assert await scene.findings() == [
        ("checker_selftest", f"planted damage was not found: {BASE}: a byte changed")
    ]
    await scene.selftest("seen")

    (scene.archive.newest.path / "full" / BASE).unlink()
    found = await scene.findings()
    assert ("postgres_backups", f"full {BASE}: it does not exist") in found
    assert {name for name, _ in found} == {"postgres_backups", "objectives"}


@pytest.mark.parametrize("named", [True, False])
async def test_a_failed_drill_that_left_no_trace(scene: Scene, *, named: bool) -> None:
    """As of backups that only others may write to, or for want of room."""
    source = scene.archive.newest.id if named else ""
    failed = Drill(datetime.now(UTC), DrillKind.DATABASE, source, success=False, detail="no room")
    await scene.drills.record(failed)
    ((section, said),) = await scene.findings()
    assert section == "postgres_drills"
    assert said.endswith("failed: no room")
    await scene.drill(success=True)
    assert await scene.findings() == []


async def test_what_is_dated_in_the_future_proves_nothing(scene: Scene) -> None:
    """Case 38: as it looks a day before everything was done, or after the clock was set right."""
    early = await scene.findings(-timedelta(days=1))
    assert [name for name, _ in early] == ["objectives"] * 3 + ["checker_selftest"]
    assert "dated in the future" in early[-1][1]


async def test_what_is_overdue_is_found(scene: Scene) -> None:
    """Case 42: nothing failed, it only did not happen."""
    adopt(scene.archive, "20260101T000000Z")
    assert await scene.findings() == []
    later = await scene.findings(timedelta(days=9))
    assert [name for name, _ in later] == ["objectives"] * 4 + ["checker_selftest"]
    assert any("should have removed 1 generation (20260101T000000Z)" in said for _, said in later)


async def test_nothing_at_all(tmp_path: Path, database: Database) -> None:
    empty = ArchiveSettings(tmp_path, tmp_path, 1, Policy(), DrillSettings(tmp_path))
    sections: list[Section] = [
        BackupsSection(empty),
        SelftestSection(SelftestLedger(database)),
    ]
    found = [each.findings[0].problem for each in await examine_sections(sections, NOW)]
    assert found == ["no sound backup", "it never ran"]


class Failing:
    """A section that cannot find anything out."""

    name: ClassVar[str] = "failing"
    title: ClassVar[str] = "Failing"

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def report(self, now: datetime) -> SectionReport:
        raise self._error


async def test_a_section_that_fails_is_a_finding() -> None:
    lost = LeitstandError("no answer", detail="from there", remedy="go there")
    sections: list[Section] = [
        Failing(lost),
        Failing(psycopg.OperationalError("gone")),
        Failing(OSError("lost")),
    ]
    said = [each.findings[0].problem for each in await examine_sections(sections, NOW)]
    assert said == [
        "it cannot be examined: no answer: from there",
        "it cannot be examined: gone",
        "it cannot be examined: lost",
    ]
