"""`leitstand alert` and `leitstand notify`, as scripts use them."""

import json
from pathlib import Path
from typing import Any

import pytest

from leitstand.cli.main import run

VERDICT = {
    *("rule_id", "metric_name", "value", "threshold", "labels", "state", "suppressed", "reason"),
}
NOTIFICATION = {
    *("id", "channel", "recipient", "payload", "status", "attempts", "max_attempts"),
    *("next_attempt_at", "last_error", "created_at", "updated_at"),
}


class Calls:
    """Commands on a database of the test's own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        """The document of a command that ends with ``code``: its result, or its error."""
        assert run(["--json", *arguments]) == code
        said = self._capsys.readouterr()
        return json.loads(said.out or said.err)

    def text(self, *arguments: str) -> str:
        """What a command says to people."""
        assert run(list(arguments)) == 0
        return self._capsys.readouterr().out


@pytest.fixture
def call(
    conninfo: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Calls:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)
    return Calls(capsys)


@pytest.fixture
def metrics(tmp_path: Path) -> str:
    """A file of metrics, with a line that nobody can read."""
    file = tmp_path / "metrics"
    file.write_text('disk_used{host="a"} 95\ndisk_used{host="b"} 9\nbad{ 1\n')
    return str(file)


def test_a_rule_from_its_creation_to_its_end(call: Calls, metrics: str) -> None:
    rule = call("alert", "add", "disk_used", "gt", "90", "--recipient", "ops@x", "--for", "0s")
    assert rule["name"] == "disk_used-gt-90"
    assert (rule["comparison"], rule["threshold"], rule["for"]) == ("gt", 90, 0)
    assert call("alert", "list") == [rule]
    assert "disk_used > 90" in call.text("alert", "list")

    assert [v["state"] for v in call("alert", "evaluate", "--from", metrics, "--dry-run")] == [
        "firing"
    ]
    assert call("alert", "active") == []
    (fired,) = call("alert", "evaluate", "--from", metrics)
    assert set(fired) >= VERDICT
    assert (fired["labels"], fired["suppressed"]) == ({"host": "a"}, False)
    (again,) = call("alert", "evaluate", "--from", metrics)
    assert again["suppressed"] is True
    (told,) = call("notify", "list")
    assert (told["channel"], told["recipient"]) == ("alert", "ops@x")

    (alert,) = call("alert", "active")
    call("alert", "acknowledge", str(alert["id"]))
    (alert,) = call("alert", "active")
    assert alert["acknowledged_by"]
    assert call("alert", "delete", "disk_used-gt-90") == {"deleted": "disk_used-gt-90"}
    assert call("alert", "delete", "disk_used-gt-90", code=1)["code"] == "NOT_FOUND"


def test_rules_that_cannot_be_are_typed_errors(call: Calls) -> None:
    for wrong in (("a b", "gt", "1"), ("m", "ge", "1"), ("m", "gt"), ("m", "absent", "1")):
        assert call("alert", "add", *wrong, code=2)["code"] == "INVALID_ALERT"
    assert call("alert", "add", "m", "lt", "--", "-5")["threshold"] == -5
    assert call("alert", "add", "m", "absent")["absent"] is True
    assert call("alert", "evaluate", "--from", "nowhere", code=2)["code"] == "USAGE"


def test_rules_look_at_leitstands_own_metrics(call: Calls) -> None:
    call("alert", "add", "leitstand_core_up", "gt", "0")
    call("alert", "add", "leitstand_core_runs_total", "gt", "0")
    assert [v["metric_name"] for v in call("alert", "evaluate")] == ["leitstand_core_up"]


def test_silences(call: Calls, metrics: str) -> None:
    call("alert", "add", "disk_used", "gt", "90", "--name", "disk")
    call("alert", "evaluate", "--from", metrics)
    covered = call("alert", "silence", "--label", "host=a", "--preview")
    assert [alert["rule"] for alert in covered] == ["disk"]
    assert call("alert", "silence", "--label", "host=b", "--preview") == []
    assert call("alert", "silences") == []
    silence = call("alert", "silence", "--rule", "disk", "--for", "2h", "--reason", "known")
    assert call("alert", "silences") == [silence]
    assert "rule disk" in call.text("alert", "silences")
    call("alert", "unsilence", str(silence["id"]))
    assert call("alert", "silences") == []
    assert len(call("alert", "silences", "--ended")) == 1
    assert call("alert", "silence", code=2)["code"] == "USAGE"
    assert call("alert", "silence", "--label", "odd", code=2)["code"] == "USAGE"


def test_silences_that_come_again(call: Calls) -> None:
    weekly = (
        "--from",
        "02:00",
        "--to",
        "04:00",
        "--days",
        "sat-sun",
        "--timezone",
        "Europe/Berlin",
    )
    made = call("alert", "silence", "--rule", "disk", *weekly)
    assert made["weekly"] == {
        "days": ["sat", "sun"], "from": "02:00", "to": "04:00", "timezone": "Europe/Berlin",
    }  # fmt: skip
    assert "sat,sun 02:00-04:00 Europe/Berlin" in call.text("alert", "silences")
    for wrong in (("--from", "02:00"), ("--days", "sun"), ("--from", "x", "--to", "04:00")):
        assert call("alert", "silence", "--rule", "disk", *wrong, code=2)["remedy"]


def test_notifications(call: Calls) -> None:
    sent = call("notify", "send", "log", "somebody", "--payload", '{"message": "hello"}')
    assert set(sent) >= NOTIFICATION
    assert (sent["status"], sent["payload"]) == ("pending", {"message": "hello"})
    dead = call("notify", "send", "email", "nobody")
    assert call("notify", "process", code=1) == {"sent": 1, "retried": 0, "failed": 1, "lost": 0}
    (failed,) = call("notify", "list", "--status", "failed")
    assert failed["id"] == dead["id"]
    assert "cannot be reached" in failed["last_error"]
    assert call("notify", "retry", str(dead["id"]))["status"] == "pending"
    assert call("notify", "retry", str(sent["id"]), code=1)["code"] == "CONFLICT"
    assert call("notify", "process", "-n", "1", code=1)["failed"] == 1
    assert "somebody" in call.text("notify", "list")


def test_what_cannot_be_sent_is_refused_at_once(call: Calls) -> None:
    assert call("notify", "send", "pigeon", "ops@x", code=2)["code"] == "USAGE"
    for payload in ("{", "[]", '"x"'):
        assert call("notify", "send", "log", "log", "--payload", payload, code=2)["code"] == "USAGE"


def test_the_secrets_of_a_url_are_not_listed(call: Calls) -> None:
    """Case 44."""
    call("notify", "send", "apprise", "tgram://123456:TOKEN/chat")
    assert "TOKEN" not in json.dumps(call("notify", "list"))
    assert "TOKEN" not in call.text("notify", "list")


def test_contacts_are_listed_and_tested(call: Calls, tmp_path: Path) -> None:
    contact = '[[contact]]\nname = "chat"\nurl = "https://hooks.example/T0/hidden"\n'
    (tmp_path / "leitstand.toml").write_text(contact)
    assert "hidden" not in call.text("notify", "contacts")
    assert [each["name"] for each in call("notify", "contacts")] == ["chat", "default", "log"]
    (sent,) = call("notify", "test", "chat")
    assert (sent["channel"], sent["recipient"], sent["status"]) == ("webhook", "chat", "pending")
    assert call("notify", "test", "caht", code=1)["code"] == "NOT_FOUND"


def test_all_that_failed_are_tried_again(call: Calls) -> None:
    call("notify", "send", "email", "nobody")
    call("notify", "process", code=1)
    assert call("notify", "retry", "--all") == {"retried": 1}
    assert [each["status"] for each in call("notify", "list")] == ["pending"]
    assert call("notify", "retry", code=2)["code"] == "USAGE"
    assert call("notify", "retry", "1", "--all", code=2)["code"] == "USAGE"
