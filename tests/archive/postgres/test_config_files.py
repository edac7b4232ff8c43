"""Configuration files outside the data directory go into a backup and come back beside it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.postgres.backup import take_full
from leitstand.archive.postgres.config_files import (
    CONFIG_FILES,
    ConfigFile,
    ConfigFilesError,
    collect,
    from_document,
    to_document,
    write_files,
)
from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.restore import Restore, restore_database
from leitstand.archive.postgres.verify import verify_generation
from leitstand.archive.restore_target import TargetRefusedError
from leitstand.store.account import server_account
from tests.archive_scene import Archive, repository
from tests.conftest import Postgres

CONTENT = b"# d\xe9j\xe0 vu\nwork_mem = '8MB'\n"


@pytest.fixture
def included(archived: Postgres, short_dir: Path) -> Iterator[Path]:
    """A file that the server includes from outside its data directory."""
    directory = short_dir / "etc" / "conf.d"
    directory.mkdir(parents=True)
    for path in (short_dir, directory.parent, directory):
        path.chmod(0o755)
    file = directory / "own.conf"
    file.write_bytes(CONTENT)
    auto = archived.cluster.data / "postgresql.conf"
    before = auto.read_bytes()
    auto.write_bytes(before + f"\ninclude_dir = '{directory}'\n".encode())
    yield file
    auto.write_bytes(before)


def test_they_come_back_beside_the_data_directory(
    archived: Postgres, included: Path, short_dir: Path
) -> None:
    """Kept by ``auto`` and by name; verified; never over live files."""
    named = short_dir / "pg_service.conf"
    named.write_text("[x]\n")
    named.chmod(0o600)
    wanted = ("auto", str(named), str(short_dir / "nowhere"))
    taken = replace(repository(archived, short_dir / "backups"), config_files=wanted)
    generation = short_dir / "backups" / take_full(taken).generation
    target, account = short_dir / "restored", server_account()
    order = Restore(generation, target, short_dir / "log")
    made = restore_database(order, taken.binaries, account)
    assert made.config == short_dir / "restored.config"
    back = made.config / included.relative_to("/")
    assert back.read_bytes() == CONTENT
    assert back.stat().st_uid == account.uid
    service = made.config / named.relative_to("/")
    assert (service.read_text(), service.stat().st_mode & 0o777) == ("[x]\n", 0o600)
    assert {path.name for path in made.config.rglob("*") if path.is_file()} == {
        "own.conf",
        "pg_service.conf",
    }
    with pytest.raises(TargetRefusedError):
        restore_database(replace(order, target=short_dir / "restored"), taken.binaries, account)

    document = generation / "full" / CONFIG_FILES
    document.write_bytes(document.read_bytes().replace(b'"mode": 384', b'"mode": 511'))
    (found,) = verify_generation(generation, taken.binaries).findings
    assert (found.file, found.problem) == (
        CONFIG_FILES,
        "its SHA-256 is not the one in backup.json",
    )
    document.unlink()
    (found,) = verify_generation(generation, taken.binaries).findings
    assert (found.file, found.problem) == (CONFIG_FILES, "it does not exist")


def test_backups_without_any_are_as_before(archive: Archive) -> None:
    assert not list(archive.directory.rglob(CONFIG_FILES))


def test_a_role_without_the_right_gets_none(archived: Postgres) -> None:
    with psycopg.connect(archived.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE ROLE config_reader LOGIN")
        try:
            poor = Source.parse(f"{archived.conninfo()} user=config_reader")
            assert collect(poor, ["auto"]) == []
        finally:
            connection.execute("DROP ROLE config_reader")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b'{"files": [{"path": "/a"}]}',
        b'{"files": [{"path": "a", "mode": 1, "content": ""}]}',
        b'{"files": [{"path": "/etc/../../a", "mode": 1, "content": ""}]}',
    ],
)
def test_a_document_that_nobody_wrote(document: bytes) -> None:
    """Case 61: no path leads out of the directory that they are written to."""
    with pytest.raises(ConfigFilesError):
        from_document(document)


def test_write_and_read(tmp_path: Path) -> None:
    files = [ConfigFile("/etc/a.conf", 0o640, b"\xff\0"), ConfigFile("/etc/d/b", 0o600, b"")]
    assert from_document(to_document(files).encode()) == files
    write_files(files, tmp_path / "new")
    assert (tmp_path / "new/etc/a.conf").read_bytes() == b"\xff\0"
