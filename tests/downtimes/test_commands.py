"""`leitstand downtime`: what it shows, and dead letters from list to replay."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from leitstand.cli.exit_code import ExitCode
from leitstand.cli.main import run
from tests.downtimes.core import ADD, SERVICE, START, body, message

Call = Any


@pytest.fixture
def call(
    conninfo: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """Runs `leitstand downtime … --json`; the exit code and the document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)

    def call(*arguments: str) -> tuple[int, Any]:
        code = run(["downtime", *arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def hand_in(*bodies: bytes) -> str:
    """A file of messages."""
    Path("in").write_bytes(b"\n".join(bodies))
    return "in"


def test_from_a_file_to_status_list_and_history(call: Call) -> None:
    """The tables are made in the control database by themselves."""
    now = int(time.time())
    times = {"start_time": now, "end_time": now + 600}
    messages = [
        message(ADD, now - 10, **times),
        message(START, now, **times),
        message(ADD, now, **times, **SERVICE),
    ]
    code, counts = call("ingest", hand_in(*(body(one) for one in messages)))
    assert (code, counts["applied"], counts["rejected"]) == (ExitCode.DONE, 3, 0)
    _, status = call("status", "web01")
    assert status["in_downtime"]
    assert not call("status", "web01", "HTTP")[1]["in_downtime"]
    assert not call("status", "web02")[1]["in_downtime"]
    shown = {one["kind"]: one["state"] for one in call("list", "--host", "web01")[1]}
    assert shown == {"host": "running", "service": "scheduled"}
    assert len(call("history", "-n", "1")[1]) == 1
    assert len(call("history", "--service", "HTTP")[1]) == 1
    assert call("reap")[1] == []


def test_dead_letters(call: Call) -> None:
    bad = body(message(ADD, 1, start_time=10, end_time=20)).replace(b"1100", b"9999")
    code, counts = call("ingest", hand_in(bad, b"nonsense"))
    assert (code, counts["reasons"]) == (ExitCode.PARTIAL, {"unknown_event": 1, "not_json": 1})
    first, second = call("dead-letters", "list")[1]
    assert (first["reason"], second["reason"]) == ("unknown_event", "not_json")
    assert json.loads(call("dead-letters", "show", str(first["id"]))[1]["body"])["type"] == 9999
    code, counts = call("dead-letters", "replay", "--all")
    assert (code, counts["rejected"]) == (ExitCode.PARTIAL, 2)
    assert [one["deliveries"] for one in call("dead-letters", "list")[1]] == [2, 2]
    call("dead-letters", "forget", str(second["id"]))
    assert len(call("dead-letters", "list")[1]) == 1
    assert run(["downtime", "dead-letters", "show", str(second["id"])]) == ExitCode.FAILURE
