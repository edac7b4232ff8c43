"""`token`: making, listing and revoking tokens, and links to log in."""

import json
from typing import Any

import pytest

from leitstand.cli.main import run


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


def test_a_token_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "token", "list") == "No tokens.\n"
    secret = printed(capsys, "token", "create", "ci", "--role", "operator", "--expires", "90d")
    assert secret.startswith("lst_")
    assert len(secret.split()) == 1
    (token,) = json.loads(printed(capsys, "token", "list", "--json"))
    assert (token["name"], token["role"], token["last_used_at"]) == ("ci", "operator", None)
    assert token["expires_at"] > token["created_at"]
    assert secret.strip() not in printed(capsys, "token", "list")
    made = json.loads(printed(capsys, "token", "create", "b", "--role", "viewer", "--json"))
    assert made["token"].startswith("lst_")
    assert printed(capsys, "token", "revoke", "ci") == "Token ci is revoked.\n"
    assert "no valid token is named 'ci'" in printed(capsys, "token", "revoke", "ci", code=1)


def test_wrong_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert "role" in printed(capsys, "token", "create", "ci", code=2)
    assert "boss" in printed(capsys, "token", "create", "ci", "--role", "boss", code=2)
    for life in ("soon", "0s", "-5"):
        arguments = ("--role", "viewer", f"--expires={life}")
        assert printed(capsys, "token", "create", "ci", *arguments, code=2)


@pytest.mark.parametrize(
    ("settings", "begins"),
    [
        ({}, "http://127.0.0.1:8080/login/lsl_"),
        ({"SERVER__LISTEN": ":9090"}, "http://localhost:9090/login/lsl_"),
        ({"SERVER__LISTEN": "[::1]:9090"}, "http://[::1]:9090/login/lsl_"),
        ({"ACCESS__URL": "https://l.example/ops/"}, "https://l.example/ops/login/lsl_"),
    ],
)
def test_a_link_leads_to_the_pages(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    begins: str,
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"LEITSTAND_{name}", value)
    assert printed(capsys, "token", "login").startswith(begins)
