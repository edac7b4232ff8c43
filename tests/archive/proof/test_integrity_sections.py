"""What the proof says of stored objects."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leitstand.archive import (
    Demonstration,
    IntegritySettings,
    Quota,
    ReconcileSection,
    ScrubSection,
    Section,
    examine_sections,
    run_reconcile,
    run_scrub,
)
from leitstand.archive.integrity.demonstration import PLANTED, TABLE
from leitstand.archive.proof import integrity_sections
from leitstand.store.database import Database


class Scene:
    """The demonstration, reconciled and scrubbed."""

    def __init__(self, directory: Path, database: Database) -> None:
        self.demonstration = Demonstration(directory / "demo")
        self.objects = self.demonstration.objects
        self.database = database
        self.settings = IntegritySettings(str(self.objects), TABLE, directory, grace=0)

    async def look(self) -> None:
        await run_reconcile(self.settings, self.database)
        options = self.settings.scrub_options(Quota(count=100), cooldown=0)
        await run_scrub(self.settings, self.database, options)

    async def findings(self, later: timedelta = timedelta()) -> list[tuple[str, str]]:
        store = str(self.objects)
        sections: list[Section] = [
            ReconcileSection(self.database, store),
            ScrubSection(self.database, store),
        ]
        reports = await examine_sections(sections, datetime.now(UTC) + later)
        return [(found.subject, found.problem) for each in reports for found in each.findings]


@pytest.fixture
async def scene(tmp_path: Path, database: Database) -> Scene:
    scene = Scene(tmp_path, database)
    await scene.demonstration.set_up(database)
    await scene.look()
    return scene


async def test_what_was_put_right_is_no_finding_any_more(scene: Scene) -> None:
    subjects = [subject for subject, _ in await scene.findings()]
    assert subjects == [*PLANTED.missing, *PLANTED.orphaned, *PLANTED.corrupted]
    (orphan,) = PLANTED.orphaned
    (scene.objects / orphan).unlink()
    damaged = scene.objects / PLANTED.corrupted[0]
    damaged.write_bytes(damaged.read_bytes().replace(b"EUr", b"EUR"))
    await scene.look()
    subjects = [subject for subject, _ in await scene.findings()]
    assert subjects == [*PLANTED.missing, PLANTED.corrupted[1]]


async def test_what_is_overdue_is_found(scene: Scene) -> None:
    """Case 42: nobody looks any more, and what was found stays."""
    later = await scene.findings(timedelta(days=9))
    assert sum("it was last done on" in problem for _, problem in later) == 2
    assert len(later) == 7


async def test_many_findings_are_counted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity_sections, "SHOWN", 1)
    assert (await scene.findings())[-1] == ("1 more", "wrong or unreadable")


async def test_without_objects_nothing_is_found(database: Database) -> None:
    sections: list[Section] = [ReconcileSection(database, ""), ScrubSection(database, "")]
    reports = await examine_sections(sections, datetime.now(UTC))
    assert [(each.clean, each.summary) for each in reports] == [
        (True, "no store of objects is configured")
    ] * 2
