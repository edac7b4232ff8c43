"""`tenant`: create, list, delete."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from leitstand.cli.main import run
from tests.conftest import Postgres


@pytest.fixture(autouse=True)
def place(
    conninfo: str, postgres: Postgres, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A directory, a database of the test's own, and the beginning of its tenants' databases."""
    prefix = f"{psycopg.conninfo.conninfo_to_dict(conninfo)['dbname']}_c_"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)
    monkeypatch.setenv("LEITSTAND_TENANTS__DATABASE_PREFIX", prefix)
    monkeypatch.setenv("LEITSTAND_TENANTS__DELETE_AFTER", "0s")
    yield prefix
    postgres.drop_database(f"{prefix}acme")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command says, errors and notes included."""
    capsys.readouterr()
    assert run(list(arguments)) == code
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_a_tenants_life(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    assert said(capsys, "tenant", "list") == "No tenants.\n"
    made = json.loads(said(capsys, "tenant", "create", "acme", "Acme", "--json"))
    assert (made["slug"], made["name"], made["status"]) == ("acme", "Acme", "active")
    assert made["database"] == f"{place}acme"
    assert "TENANT_EXISTS" in said(capsys, "tenant", "create", "acme", "Acme", code=1)
    assert "TENANT_SLUG" in said(capsys, "tenant", "create", "A-B", "Acme", code=2)
    assert "Did you mean acme?" in said(capsys, "tenant", "delete", "acne", code=1)
    monkeypatch.setenv("LEITSTAND_TENANTS__DELETE_AFTER", "1h")
    assert "by the control server" in said(capsys, "tenant", "delete", "acme")
    (listed,) = json.loads(said(capsys, "tenant", "list", "--json"))
    assert listed["status"] == "deleting"
