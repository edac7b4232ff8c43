"""Backups of PostgreSQL from the command line, where the disk for them is not mounted."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import console
from tests.conftest import Postgres

Leitstand = Callable[..., console.Ended]


@pytest.fixture
def leitstand(short_dir: Path, conninfo: str, postgres: Postgres) -> Leitstand:
    """Runs commands; backups of the tests' server go to ``backups``."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LEITSTAND")}
    environment = {
        **kept,
        "LEITSTAND_DATABASE__URL": conninfo,
        "LEITSTAND_BACKUP__POSTGRES__URL": postgres.conninfo(),
        "LEITSTAND_BACKUP__POSTGRES__DIRECTORY": str(short_dir / "backups"),
        "LEITSTAND_DRILL__CANARY_LIMIT": "0",
    }

    return lambda *arguments: console.leitstand(arguments, short_dir, environment)


def disk_of(leitstand: Leitstand) -> bool:
    """What the doctor says of the disk."""
    findings = json.loads(leitstand("doctor", "--json").out)
    (found,) = (each for each in findings if each["name"] == "disk of the backups")
    return bool(found["ok"])


def test_an_unmounted_disk(leitstand: Leitstand, short_dir: Path) -> None:
    backups, disk = short_dir / "backups", short_dir / "disk"
    first = leitstand("backup", "postgres", "full", "--json")
    assert first.code == 0, first
    assert disk_of(leitstand)

    backups.rename(disk)
    backups.mkdir()
    for mode in (("full",), ("incremental", "--full-if-needed")):
        refused = leitstand("backup", "postgres", *mode)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith("Error [BACKUP_DIRECTORY_ABSENT]: ")
        assert json.loads(first.out)["id"] in refused.err
        assert "Mount the disk" in refused.err
    assert not any(backups.iterdir())
    assert not disk_of(leitstand)
    assert f"There is no backup in {backups}." in leitstand("backup", "postgres", "list").out

    anew = leitstand("backup", "postgres", "full", "--accept-directory")
    assert anew.code == 0, anew
    assert disk_of(leitstand)
