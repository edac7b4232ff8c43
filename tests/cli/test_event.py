"""`event`: emitting, listing, and the catalogue."""

import json
from pathlib import Path
from typing import Any

import pytest

from leitstand.cli.main import run

JOBS = """
[[hook]]
name = "shop"
token = "0123456789abcdef"
description = "orders"

[[job]]
name = "known"
kind = "command"
event = "hook:shop"
params = { argv = ["true"] }

[[job]]
name = "unknown"
kind = "command"
event = "no.such.event"
params = { argv = ["true"] }
"""


@pytest.fixture(autouse=True)
def place(conninfo: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory and a database of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command says on standard output, or of an error."""
    capsys.readouterr()
    assert run(list(arguments)) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


def test_an_event_is_stored_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "event", "list") == "No events.\n"
    arguments = ("event", "emit", "archive-written", "--payload", '{"n": "\\u0000ü"}')
    assert run(list(arguments)) == 0
    said = capsys.readouterr()
    assert "is stored" in said.out
    assert "No enabled job listens to archive-written." in said.err
    (event,) = json.loads(printed(capsys, "event", "list", "--json"))
    assert (event["name"], event["source"], event["state"]) == (
        "archive-written",
        "command",
        "waiting",
    )
    assert event["payload"] == {"n": "\N{REPLACEMENT CHARACTER}ü"}
    assert printed(capsys, "event", "list", "--state", "consumed") == "No events.\n"
    assert "archive-written" in printed(capsys, "event", "list", "--name", "archive-written")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("emit", "e", "--payload", "[1]"), "not a JSON object"),
        (("emit", "e", "--payload", "{"), "not a JSON object"),
        (("emit", "two words"), "letters"),
        (("list", "--state", "consumd"), "Did you mean consumed?"),
    ],
)
def test_wrong_input(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert said in printed(capsys, "event", *arguments, code=2)


def test_one_event_and_who_listens(capsys: pytest.CaptureFixture[str]) -> None:
    Path("leitstand.toml").write_text(JOBS)
    printed(capsys, "apply", "leitstand.toml")
    assert "no.such.event (unknown event)" in printed(capsys, "event", "listeners")
    listeners = json.loads(printed(capsys, "event", "listeners", "--json"))
    unknown = {each["event"]: each["unknown_event"] for each in listeners}
    assert unknown == {"hook:shop": False, "no.such.event": True}
    printed(capsys, "event", "emit", "hook:shop", "--payload", '{"n": 1}')
    (event,) = json.loads(printed(capsys, "event", "list", "--json"))
    number = str(event["id"])
    assert json.loads(printed(capsys, "event", "show", number, "--json")) == event
    assert '"n": 1' in printed(capsys, "event", "show", number)
    assert "there is no event" in printed(capsys, "event", "show", "999", code=1)
    entries = {e["name"]: e for e in json.loads(printed(capsys, "event", "catalog", "--json"))}
    assert entries["hook:shop"]["description"] == "orders"


def test_the_catalogue_names_what_can_happen(capsys: pytest.CaptureFixture[str]) -> None:
    entries = {e["name"]: e for e in json.loads(printed(capsys, "event", "catalog", "--json"))}
    assert {"run.failed", "run.failed:JOB"} <= entries.keys()
    assert "error_code" in entries["run.failed"]["fields"]
