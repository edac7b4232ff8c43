"""The history of checks, also when a crash has cut it off."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from leitstand.archive.postgres.checks import (
    CHECKS,
    Check,
    CheckKind,
    last_failed,
    last_passed,
    note_check,
    read_checks,
)

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def check(hours: int, *stages: str, ok: bool = True) -> Check:
    return Check(NOW + timedelta(hours=hours), CheckKind.VERIFY, ok, stages, 0, "")


def test_what_was_noted_is_read(tmp_path: Path) -> None:
    noted = [check(0, "full"), Check(NOW, CheckKind.DRILL, False, ("full",), 2, "no answer")]
    for one in noted:
        note_check(tmp_path, one)
    assert read_checks(tmp_path) == tuple(noted)


def test_a_torn_line_harms_no_other(tmp_path: Path) -> None:
    note_check(tmp_path, check(0, "full"))
    with (tmp_path / CHECKS).open("ab") as file:
        file.write(b'{"timestamp": "2026-12-')
    note_check(tmp_path, check(1, "full"))
    assert [one.timestamp.hour for one in read_checks(tmp_path)] == [0, 1]


def test_no_history_is_an_empty_one(tmp_path: Path) -> None:
    assert read_checks(tmp_path / "nowhere") == ()


def test_a_check_does_not_count_for_newer_increments() -> None:
    checks = [check(0, "full")]
    assert last_passed(checks, CheckKind.VERIFY, ["full"]) == NOW
    assert last_passed(checks, CheckKind.VERIFY, ["full", "incremental/x"]) is None
    checks.append(check(1, "incremental/x"))
    assert last_passed(checks, CheckKind.VERIFY, ["full", "incremental/x"]) == NOW


def test_a_failure_outweighs_an_earlier_success_and_not_a_later_one() -> None:
    checks = [check(0, "full"), check(1, "full", ok=False)]
    assert last_passed(checks, CheckKind.VERIFY, ["full"]) is None
    assert last_failed(checks, ["full"]) == checks[1]
    assert last_failed([*checks, check(2, "full")], ["full"]) is None
