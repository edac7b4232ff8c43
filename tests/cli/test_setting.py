"""`setting`: what it shows, and what it refuses."""

import asyncio
import json
from typing import Any

import pytest

from leitstand.cli.main import run
from tests.tenants.registered import register

READS = ("get", "resolve", "history")


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
    return json.loads(said(capsys, *arguments, "--json"))


def test_values_are_set_and_read(capsys: pytest.CaptureFixture[str], conninfo: str) -> None:
    assert said(capsys, "setting", "list") == "No settings.\n"
    first = document(capsys, "setting", "set", "greeting", "5")
    assert set(first) == {"key", "scope", "value", "version", "changed_at", "changed_by"}
    assert (first["scope"], first["value"], first["version"]) == ("global", "5", 1)
    asyncio.run(register(conninfo, "acme", "other"))
    said(capsys, "setting", "set", "greeting", "[1, 2]", "--tenant", "acme", "--value-is-json")
    assert said(capsys, "setting", "get", "greeting") == "5\n"
    assert said(capsys, "setting", "get", "greeting", "--tenant", "acme") == "[1, 2]\n"
    assert document(capsys, "setting", "resolve", "greeting", "--tenant", "acme")["value"] == [1, 2]
    assert document(capsys, "setting", "resolve", "greeting", "--tenant", "other") == first
    assert said(capsys, "setting", "set", "greeting", "6") == "greeting is set: version 2.\n"
    assert [s["value"] for s in document(capsys, "setting", "history", "greeting")] == ["5", "6"]
    listed = said(capsys, "setting", "list").splitlines()
    assert [line.split()[:4] for line in listed[1:]] == [
        ["greeting", "acme", "1", "[1,"],
        ["greeting", "global", "2", "6"],
    ]


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "setting", "set", "greeting", "hello", "--expected", "0")
    assert "SETTING_VERSION" in said(
        capsys, "setting", "set", "greeting", "x", "--expected", "0", code=1
    )
    assert "Did you mean greeting?" in said(capsys, "setting", "get", "greting", code=1)
    assert "SETTING_UNKNOWN" in said(capsys, "setting", "get", "greting", code=1)
    assert "SETTING_SCOPE" in said(capsys, "setting", "set", "a", "b", "--tenant", "", code=2)
    assert "SETTING_KEY" in said(capsys, "setting", "set", "a b", "c", code=2)
    assert "no JSON" in said(capsys, "setting", "set", "a", "{", "--value-is-json", code=2)


def test_a_tenant_that_does_not_exist(capsys: pytest.CaptureFixture[str], conninfo: str) -> None:
    """A value for a slug that was mistyped would count for nobody."""
    asyncio.run(register(conninfo, "acme"))
    said(capsys, "setting", "set", "greeting", "hello")
    for action in (("set", "greeting", "x"), *((a, "greeting") for a in READS)):
        told = said(capsys, "setting", *action, "--tenant", "acne", code=1)
        assert "TENANT_UNKNOWN" in told
        assert "Did you mean acme?" in told
    assert "SETTING_UNKNOWN" in said(
        capsys, "setting", "get", "greeting", "--tenant", "acme", code=1
    )
