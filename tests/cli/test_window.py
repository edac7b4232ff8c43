"""`window`, and what `job next`, `why` and `run` say about windows."""

import json
from typing import Any

import psycopg
import pytest

from leitstand.cli.exit_code import ExitCode
from leitstand.cli.main import run


@pytest.fixture(autouse=True)
def place(conninfo: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory, a database of the test's own, and a job in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)
    with psycopg.connect(conninfo) as connection:
        connection.execute(
            "INSERT INTO jobs (name, kind, trigger_type, expression, tags, next_run_at)"
            " VALUES ('sync', 'command', 'cron', '0 2 * * *', '{db}', '2031-06-06 02:00+00')"
        )


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command says, errors and notes included."""
    capsys.readouterr()
    assert run(list(arguments)) == code
    shown = capsys.readouterr()
    return shown.out + shown.err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_windows_are_added_listed_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "window", "list") == "No windows.\n"
    night = ("--from", "22:00", "--to", "04:00", "--days", "fri-sun", "--tag", "db")
    zone = ("--timezone", "Europe/Berlin", "--reason", "patching")
    added = document(capsys, "window", "add", "night", *night, *zone)
    assert added == {
        "name": "night",
        "days": ["fri", "sat", "sun"],
        "from": "22:00",
        "to": "04:00",
        "timezone": "Europe/Berlin",
        "jobs": [],
        "tags": ["db"],
        "hosts": [],
        "reason": "patching",
        "managed": False,
    }
    said(capsys, "window", "add", "freeze", "--from", "2026-12-24 18:00", "--to", "2026-12-27")
    assert said(capsys, "window", "list").splitlines()[1:] == [
        "freeze  2026-12-24 18:00:00 to 2026-12-27 00:00:00 UTC  all jobs",
        "night   fri,sat,sun 22:00-04:00 Europe/Berlin           tag db    patching",
    ]
    assert said(capsys, "window", "delete", "freeze") == "Window freeze is deleted.\n"
    assert document(capsys, "window", "list") == [added]


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ("window", "add", "w", "--from", "22:00", "--to", "2026-12-24")
    assert "two times of day, or two dates" in said(capsys, *wrong, code=ExitCode.USAGE)
    absent = said(capsys, "window", "delete", "w", code=ExitCode.FAILURE)
    assert "no window is named 'w'" in absent


def test_next_why_and_run_speak_of_windows(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "window", "add", "june", "--from", "2031-06-06", "--to", "2031-06-08T12:00Z")
    (first, second) = document(capsys, "job", "next", "sync", "-n", "2")
    assert first == {
        "planned_at": "2031-06-06T02:00:00.000000Z",
        "start_at": "2031-06-08T12:00:00.000000Z",
        "moved": "postponed by window june to 2031-06-08 12:00:00 UTC",
        "merged": 2,
    }
    assert second["moved"] is None
    assert "12:00:00 UTC; 2 more are part of it" in said(capsys, "job", "next", "sync")
    why = said(capsys, "job", "why", "sync", "--at", "2031-06-07T00:00:00Z")
    assert "is postponed by window june to 2031-06-08 12:00:00 UTC." in why
    assert "postponed" not in said(capsys, "job", "run", "sync")


def test_a_run_on_request_in_a_window_is_no_surprise(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "window", "add", "always", "--from", "2020-01-01", "--to", "2190-01-01")
    assert "a run on request is not postponed" in said(capsys, "job", "run", "sync")
