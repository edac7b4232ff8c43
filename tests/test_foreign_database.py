"""The databases of other programs, opened to read."""

from pathlib import Path
from typing import Never

import aiosqlite
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from leitstand.foreign_database import ForeignDatabase
from tests.conftest import Postgres
from tests.mariadb_server import READER, MariaDb
from tests.ports import free_port


async def test_a_missing_file_is_not_made_and_leaves_no_thread_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver's thread would outlive the event loop of a command now and then, and say so."""

    def connect(*_: object, **__: object) -> Never:
        raise AssertionError("the driver was asked to open it")

    monkeypatch.setattr(aiosqlite, "connect", connect)
    engine = ForeignDatabase(f"sqlite:///{tmp_path}/none.sqlite", "it").engine()
    with pytest.raises(OperationalError, match="unable to open database file"):
        async with engine.connect():
            pass
    assert list(tmp_path.iterdir()) == []


async def test_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite").touch()
    engine = ForeignDatabase(f"sqlite:///{tmp_path}/log.sqlite", "it").engine()
    async with engine.connect() as connection:
        with pytest.raises(OperationalError, match="readonly"):
            await connection.execute(text("CREATE TABLE t (n integer)"))


async def is_refusing(url: str) -> bool:
    """Whether the error by which there is no connection says so."""
    database = ForeignDatabase(url, "it")
    with pytest.raises((SQLAlchemyError, psycopg.Error)) as caught:
        async with database.engine().connect():
            pass
    return database.is_refusing(caught.value)


async def test_a_refusal_is_told_from_silence(mariadb: MariaDb, postgres: Postgres) -> None:
    place = f"127.0.0.1:{mariadb.port}"
    refused = [
        f"mysql://{READER}:wrong@{place}/mysql",
        mariadb.url("nowhere"),
        postgres.conninfo("nowhere"),
        postgres.conninfo() + " user=nobody",
    ]
    assert [await is_refusing(url) for url in refused] == [True] * len(refused)
    silent = f"127.0.0.1:{free_port()}"
    for url in (f"mariadb://u:p@{silent}/db", f"postgresql://u:p@{silent}/db", "host=/nowhere"):
        assert not await is_refusing(url)
