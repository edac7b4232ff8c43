"""`module`, and what commands say about agents."""

import json
from typing import Any

import pytest

from leitstand.cli.main import run


@pytest.fixture(autouse=True)
def place(conninfo: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_modules_and_their_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "module", "list") == "No modules.\n"
    flags = ("--flag", "a", "--flag", "b")
    registered = document(capsys, "module", "register", "web1", "1.0", *flags)
    assert registered["required_flags"] == ["a", "b"]
    assert "no credential" in said(capsys, "module", "list")
    first = document(capsys, "module", "credential", "web1")
    assert set(first) == {"client_id", "secret"}
    second = document(capsys, "module", "credential", "web1", "--keep-old", "1h")
    (listed,) = document(capsys, "module", "list")
    assert [c["valid"] for c in listed["credentials"]] == [True, True]
    assert "secret" not in str(listed)
    assert first["secret"] not in said(capsys, "module", "list")
    revoked = said(capsys, "module", "credential", "--revoke", second["client_id"])
    assert revoked == "The credential of web1 is revoked.\n"
    shown = said(capsys, "module", "credential", "web1", "--expires", "90d")
    assert "not shown again" in shown


def test_whether_a_module_is_active_and_where_its_metrics_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert document(capsys, "module", "active", "web1", "acme") == {
        "module": "web1",
        "tenant": "acme",
        "active": False,
    }
    said(capsys, "module", "register", "web1", "1.0", "--flag", "a")
    said(capsys, "flag", "set", "a", "--target", "acme")
    assert said(capsys, "module", "active", "web1", "acme") == "web1 is active for acme.\n"
    assert said(capsys, "module", "active", "web1", "zz") == "web1 is not active for zz.\n"
    url = "http://10.0.0.5/metrics"
    assert document(capsys, "module", "source", "web1", url)["metrics_url"] == url
    assert document(capsys, "module", "list")[0]["metrics_url"] == url
    assert document(capsys, "module", "source", "web1", "--none")["metrics_url"] is None
    said(capsys, "module", "source", "web1", code=2)
    assert "METRICS_URL" in said(capsys, "module", "source", "web1", "file:///x", code=2)
    assert "MODULE_AMBIGUOUS" in said(capsys, "module", "register", "web1-b", "1", code=1)


def test_a_module_is_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "module", "register", "web1", "1.0")
    said(capsys, "module", "credential", "web1")
    assert said(capsys, "module", "delete", "web1") == "Module web1 is deleted.\n"
    assert document(capsys, "module", "list") == []
    assert "MODULE_NOT_REGISTERED" in said(capsys, "module", "delete", "web1", code=1)


def test_what_makes_no_sense(capsys: pytest.CaptureFixture[str]) -> None:
    assert "module register nobody" in said(capsys, "module", "credential", "nobody", code=1)
    assert "either" in said(capsys, "module", "credential", code=2)
    assert "either" in said(capsys, "module", "credential", "a", "--revoke", "b", code=2)
    said(capsys, "module", "register", "Web", "1", code=2)
    said(capsys, "module", "credential", "a", "--expires", "soon", code=2)


def test_a_run_that_waits_for_an_agent(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(
        '[[job]]\nname = "sync"\nkind = "command"\nruns_on = ["web1"]\nparams = { argv = ["x"] }\n'
    )
    said(capsys, "apply", str(file))
    wanted = "waits for an agent with web1 that offers the kind command: no agent is connected."
    assert wanted in said(capsys, "job", "run", "sync")
    assert wanted in said(capsys, "job", "why", "sync")
    assert wanted in said(capsys, "run", "show", "1")
    assert document(capsys, "run", "show", "1")["runs_on"] == ["web1"]
    assert document(capsys, "job", "show", "sync")["runs_on"] == ["web1"]
    assert 'runs_on = [\n    "web1",\n]' in said(capsys, "export")
    assert document(capsys, "server", "list", "--agents") == []
    assert said(capsys, "server", "list", "--agents") == "No agent is connected.\n"


def test_an_agent_without_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    error = said(capsys, "agent", code=2)
    assert "agent.servers names no control server; agent.client_id is missing" in error


def test_an_agent_with_settings_that_cannot_be(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEITSTAND_AGENT__SERVERS", '["leitstand:8080"]')
    monkeypatch.setenv("LEITSTAND_AGENT__CLIENT_ID", "a")
    monkeypatch.setenv("LEITSTAND_AGENT__CLIENT_SECRET", "b\nc")
    error = said(capsys, "agent", code=2)
    assert "'leitstand:8080' is no URL such as" in error
    assert "agent.client_secret is no text" in error
    monkeypatch.setenv("LEITSTAND_AGENT__SERVERS", '["http://leitstand:8080"]')
    monkeypatch.setenv("LEITSTAND_AGENT__CLIENT_SECRET", "b")
    monkeypatch.setenv("LEITSTAND_AGENT__KINDS", '["command", "prune-history"]')
    error = said(capsys, "agent", code=2)
    assert "this agent cannot offer prune-history" in error
    assert "It can offer: command, http" in error
