"""Restore drills of a real backup: what passes, what fails and how it says so."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leitstand.archive import ExpectedAnswer, as_document, drill_database, drill_in_turn
from leitstand.archive.drills.database_drill import DatabaseDrill, last_lines, run_database_drill
from leitstand.archive.kinds import DrillFailedError, require_passed
from leitstand.archive.postgres.catalogue import list_generations
from leitstand.archive.postgres.checks import Check, CheckKind, note_check, read_checks
from leitstand.archive.postgres.stage import BASE
from leitstand.errors import FailureClass
from leitstand.store.account import server_account
from leitstand.store.reachable import reachable_binaries
from tests.archive.drills.conftest import MakeSettings, left_in
from tests.archive.postgres.test_backup import flip
from tests.archive.postgres.test_extract import file_size_limit
from tests.archive_scene import DATABASE, Archive

NEWEST_ROUND = ExpectedAnswer(DATABASE, "SELECT max(round) FROM entry", "3")


def test_a_sound_generation_passes(archive: Archive, settings: MakeSettings) -> None:
    """Case 20: also as root, with what belongs to whom kept as it was."""
    said: list[str] = []
    drill = drill_database(settings(NEWEST_ROUND), say=said.append)
    assert drill.success, drill.detail
    assert drill.source == f"{archive.newest.id}/{archive.newest.increments[-1].path.name}"
    assert drill.detail == (
        "restored, started and answered; 1 queries as expected; pg_amcheck found no corruption"
    )
    assert list(drill.phases) == ["unpack", "combine", "start", "answer", "queries", "check"]
    assert said == ["restore", "start", "answer", "queries", "check"]
    recovery = sum(drill.phases[name] for name in ("unpack", "combine", "start", "answer"))
    assert drill.recovery_time == pytest.approx(recovery, abs=0.01)
    assert drill.recovery_point_age is not None
    assert drill.recovery_point_age > 0
    assert left_in(archive.directory.parent / "drills") == []
    assert archive.newest.drilled_at == drill.timestamp
    checks = archive.newest.path / "checks.jsonl"
    assert checks.stat().st_uid == archive.newest.path.stat().st_uid


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        (ExpectedAnswer(DATABASE, "SELECT max(round) FROM entry", "4"), "answered '3', not '4'"),
        (ExpectedAnswer(DATABASE, "SELECT 1 FROM nowhere", "1"), 'relation "nowhere" does not'),
        (ExpectedAnswer("nowhere", "SELECT 1", "1"), 'database "nowhere" does not exist'),
    ],
)
def test_a_wrong_answer_fails(
    archive: Archive, settings: MakeSettings, query: ExpectedAnswer, detail: str
) -> None:
    drill = drill_database(settings(query))
    assert not drill.success
    assert detail in drill.detail
    assert drill.recovery_time is None
    assert left_in(archive.directory.parent / "drills") == []
    assert [check.ok for check in drills_noted(archive)] == [False]


def test_a_damaged_generation_fails(archive: Archive, settings: MakeSettings) -> None:
    increment = archive.newest.increments[1].path
    flip(increment / BASE, (increment / BASE).stat().st_size // 2)
    drill = drill_database(settings())
    assert not drill.success
    assert f"the backup incremental/{increment.name} is damaged" in drill.detail
    assert f"incremental/{increment.name} {BASE}: " in drill.detail
    assert drill.recovery_time is None
    assert left_in(archive.directory.parent / "drills") == []


def test_without_a_backup(settings: MakeSettings, archive: Archive) -> None:
    for generation in archive.generations:
        generation.path.rename(archive.directory / "aside")
    drill = drill_database(settings())
    assert (drill.success, drill.source) == (False, "")
    assert drill.detail == f"no backup found in {archive.directory}"
    (archive.directory / "20270101T000000Z").mkdir()
    drill = drill_database(settings())
    assert (drill.success, drill.source) == (False, "20270101T000000Z")
    assert "no backup found" in drill.detail


def test_a_query_that_hangs_costs_its_timeout(archive: Archive, short_dir: Path) -> None:
    """Case 53."""
    account = server_account()
    plan = DatabaseDrill(
        generation=archive.newest.path,
        upto="full",
        scratch=short_dir / "drills",
        queries=[ExpectedAnswer("postgres", "SELECT pg_sleep(600)", "")],
        phase_timeout=10,
    )
    drill = run_database_drill(plan, reachable_binaries(account), account)
    assert not drill.success
    assert "statement timeout" in drill.detail
    assert 9 < drill.phases["queries"] < 30
    assert left_in(short_dir / "drills") == []


def test_a_restore_that_takes_too_long_is_given_up(
    settings: MakeSettings, archive: Archive
) -> None:
    """Case 53."""
    drill = drill_database(settings(timeout=0.001))
    assert not drill.success
    assert drill.detail == "the phase 'restore' took longer than 0.001 s"
    assert left_in(archive.directory.parent / "drills") == []


def test_a_full_disk_is_not_held_against_the_backup(
    archive: Archive, settings: MakeSettings
) -> None:
    """The newest proven generation would lose its protection, and the remedy would be wrong."""
    passed = Check(datetime.now(UTC), CheckKind.DRILL, ok=True, stages=("full",))
    note_check(archive.newest.path, passed)
    with file_size_limit(1 << 16):
        drill = drill_database(settings(), upto="full", generation=archive.newest.id)
    assert not drill.success
    assert "file too large" in drill.detail
    assert drills_noted(archive) == [passed]
    assert archive.newest.drilled_at == passed.timestamp
    with pytest.raises(DrillFailedError) as caught:
        require_passed([drill])
    assert "says nothing about the backup" in str(caught.value.remedy)
    assert caught.value.failure_class is FailureClass.TRANSIENT


def test_a_place_for_drills_that_cannot_be_made_is_a_failed_drill(
    archive: Archive, settings: MakeSettings, short_dir: Path
) -> None:
    """It is on record like any other, with what to do."""
    (short_dir / "file").touch()
    given = settings()
    nowhere = replace(given, drill=replace(given.drill, directory=short_dir / "file" / "drills"))
    drill = drill_database(nowhere)
    assert not drill.success
    assert "cannot be made" in drill.detail
    assert "drill.directory" in str(drill.hindrance)


def drills_noted(archive: Archive) -> list[Check]:
    newest: Path = list_generations(archive.directory)[-1].path
    return [check for check in read_checks(newest) if check.kind is CheckKind.DRILL]


def test_of_a_long_detail_the_last_lines_stay() -> None:
    detail = "".join(f"LOG: line {number}\n" for number in range(1000)) + "FATAL: this is why"
    kept = last_lines(detail, 200)
    assert kept.startswith("… LOG: line ")
    assert kept.endswith("LOG: line 999\nFATAL: this is why")
    assert len(kept) <= 200
    assert last_lines("short", 200) == "short"
    assert len(last_lines("x" * 300, 200)) == 200


def test_older_backups_have_their_turn(archive: Archive, settings: MakeSettings) -> None:
    """After the newest, the stage before it, which the list then shows as drilled."""
    newest, older = drill_in_turn(settings(), 1)
    *_, before, last = archive.newest.increments
    assert (newest.source, older.source) == (
        f"{archive.newest.id}/{last.path.name}",
        f"{archive.newest.id}/{before.path.name}",
    )
    assert newest.success, newest.detail
    assert older.success, older.detail
    times = [stage.drilled_at for stage in archive.newest.stages]
    assert times == [None, None, older.timestamp, newest.timestamp]
    assert archive.newest.drilled_at == older.timestamp
    (shown,) = as_document([newest, older])["older"]
    assert (shown["source"], shown["success"]) == (older.source, True)
