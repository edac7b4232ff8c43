"""Objects from the command line: backup, list, check, restore, drill, rotate."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import console
from tests.archive.objects.quick_repository import PASSWORD, lay_out
from tests.console import Ended
from tests.privileges import bound_by_modes

Leitstand = Callable[..., Ended]


@pytest.fixture
def leitstand(short_dir: Path, conninfo: str) -> Leitstand:
    """Runs commands beside a directory ``objects``; for restic the modes of files hold."""
    (short_dir / "objects").mkdir()
    for name in ("readable", "secret"):
        (short_dir / "objects" / name).write_text(name * 1000)
    password = short_dir / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    program = short_dir / "restic"
    program.write_text(f'#!/bin/sh\nexec {" ".join(bound_by_modes(["restic"]))} "$@"\n')
    program.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LEITSTAND") and k != "HOME"}
    environment = {
        **kept,
        "LEITSTAND_DATABASE__URL": conninfo,
        "LEITSTAND_BACKUP__OBJECTS__PASSWORD_FILE": str(password),
        "LEITSTAND_BACKUP__OBJECTS__PROGRAM": str(program),
    }

    def run(*arguments: str) -> Ended:
        return console.leitstand(arguments, short_dir, environment)

    return run


def document(ended: Ended, code: int = 0) -> Any:
    assert ended.code == code, ended
    return json.loads(ended.out)


def test_the_first_backup_makes_the_repository(leitstand: Leitstand, short_dir: Path) -> None:
    assert document(leitstand("backup", "objects", "list", "--json")) == []
    taken = document(leitstand("backup", "objects", "backup", "objects", "--json"))
    assert (taken["files_new"], taken["state"]) == (2, "complete")
    assert (short_dir / "var/backups/objects/config").exists()


def test_from_backup_to_proof(leitstand: Leitstand, short_dir: Path) -> None:
    (short_dir / "var/backups").mkdir(parents=True)
    lay_out(short_dir / "var/backups/objects")
    secret = short_dir / "objects" / "secret"
    secret.chmod(0)
    partial = leitstand("backup", "objects", "backup", "objects")
    assert partial.code == 3
    assert f"not in the snapshot: {secret}: " in partial.out
    assert "enied" in partial.out
    half = leitstand("restore", "objects", "newest", "half")
    assert (half.code, "(partial)" in half.out) == (3, True)  # there is no whole one yet

    secret.chmod(0o600)
    taken = document(leitstand("backup", "objects", "backup", "objects", "--json"))
    assert (taken["files_new"], taken["files_unmodified"], taken["state"]) == (1, 1, "complete")

    drill = document(leitstand("drill", "run", "--kind", "objects", "--json"))
    assert (drill["kind"], drill["source"]) == ("objects", taken["snapshot_id"])
    checked = document(leitstand("backup", "objects", "check", "--read-data", "--json"))
    assert (checked["ok"], checked["read_data"]) == (True, True)

    restored = leitstand("restore", "objects", taken["snapshot_id"][:8], "back")
    assert restored.code == 0, restored
    assert (short_dir / "back" / "secret").read_text() == "secret" * 1000
    refused = leitstand("restore", "objects", "newest", "back")
    assert (refused.code, refused.out) == (1, "")
    assert "--force" in refused.err

    rotated = document(leitstand("backup", "objects", "rotate", "--keep", "1", "--json"))
    assert len(rotated["removed"]) == 1
    (listed,) = document(leitstand("backup", "objects", "list", "--json"))
    assert listed["snapshot_id"] == taken["snapshot_id"]
    assert listed["verified_at"]
    assert listed["drilled_at"]


def test_no_restore_replaces_backups_of_another_sort(leitstand: Leitstand, short_dir: Path) -> None:
    """Case 59: whatever --force says, and wherever they are."""
    dumps, snapshots = short_dir / "dumps", short_dir / "snapshots"
    for place in (dumps, snapshots):
        place.mkdir()
        (place / "precious").touch()
    (short_dir / "leitstand.toml").write_text(
        f"[backup.postgres]\ndirectory = '{dumps}'\n[backup.objects]\nrepository = '{snapshots}'\n"
    )
    (dumps / "20261203T000000Z" / "full").mkdir(parents=True)
    for kind, place in (("objects", dumps), ("database", snapshots)):
        refused = leitstand("restore", kind, "newest", str(place), "--force")
        assert refused.code == 1
        assert "must survive" in refused.err
        assert (place / "precious").exists()


def test_wrong_usage(leitstand: Leitstand) -> None:
    assert leitstand("drill", "run", "--kind", "objects", "--generation", "x").code == 2
    assert leitstand("backup", "objects", "backup", "objects", ".").code == 2
