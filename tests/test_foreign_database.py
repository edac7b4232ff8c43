"""The databases of other programs, opened to read."""

from pathlib import Path
from typing import Never

import aiosqlite
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from leitstand.foreign_database import ForeignDatabase


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
