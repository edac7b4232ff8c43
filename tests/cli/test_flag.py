"""`flag`: set, list and evaluate, also without a database."""

import json
from pathlib import Path
from typing import Any

import pytest

from leitstand.cli.main import run
from leitstand.flags import Flag, FlagMemory


@pytest.fixture(autouse=True)
def place(conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory, and a database of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command says, errors and notes included."""
    capsys.readouterr()
    assert run(list(arguments)) == code
    shown = capsys.readouterr()
    return shown.out + shown.err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_flags_are_set_listed_and_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "flag", "list") == "No flags.\n"
    made = document(capsys, "flag", "set", "f", "--rollout", "30", "--target", "a", "--target", "b")
    wanted = {"key": "f", "enabled": False, "rollout_percentage": 30, "target_tenants": ["a", "b"]}
    assert made.items() >= wanted.items()
    assert said(capsys, "flag", "list").splitlines()[1] == "f     30 % of tenants, a, b"
    evaluated = document(capsys, "flag", "eval", "f", "a")
    assert evaluated == {
        "key": "f",
        "tenant": "a",
        "value": True,
        "reason": "TARGETING_MATCH",
        "stale": False,
    }
    assert said(capsys, "flag", "set", "f", "--enabled") == "f is on for all.\n"
    assert document(capsys, "flag", "eval", "f", "zz")["reason"] == "STATIC"
    off = ("--disabled", "--rollout", "0", "--no-targets")
    assert said(capsys, "flag", "set", "f", *off) == "f is on for nobody.\n"
    assert said(capsys, "flag", "eval", "f", "a") == "f is off for a (DEFAULT).\n"
    assert said(capsys, "flag", "delete", "f") == "f is deleted.\n"
    assert document(capsys, "flag", "eval", "f", "a")["reason"] == "FLAG_NOT_FOUND"
    assert "deleted" in said(capsys, "flag", "history", "f").splitlines()[1]
    assert "FLAG_VERSION" in said(capsys, "flag", "set", "f", "--expected", "1", code=1)


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "FLAG_ROLLOUT" in said(capsys, "flag", "set", "f", "--rollout", "101", code=2)
    assert "FLAG_KEY" in said(capsys, "flag", "set", "a|b", code=2)
    assert "either" in said(capsys, "flag", "set", "f", "--target", "a", "--no-targets", code=2)
    assert "NOT_FOUND" in said(capsys, "flag", "delete", "f", code=1)


def test_without_a_database_the_last_known_state_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", f"host={tmp_path} dbname=none")
    answer = document_of(capsys, "flag", "eval", "f", "a")
    assert (answer["value"], answer["reason"]) == (False, "ERROR")
    FlagMemory(tmp_path / "var/flags.json").keep([Flag("f", enabled=True)])
    answer = document_of(capsys, "flag", "eval", "f", "a")
    assert (answer["value"], answer["reason"], answer["stale"]) == (True, "STALE", True)


def document_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Standard output alone; a warning goes to standard error."""
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)
