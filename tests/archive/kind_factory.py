"""The archive's executors for worker processes of the tests, set up by environment variables."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leitstand.archive import (
    ArchiveSettings,
    DrillLedger,
    DrillSettings,
    Policy,
    PostgresBackup,
    PostgresRotate,
    PostgresVerify,
    RestoreDrill,
)
from leitstand.execution import Executor, Kinds
from leitstand.store.database import Database


def make(kind: str) -> Executor[Any]:
    """The executor of ``kind``, on TEST_ARCHIVE, TEST_SOURCE and TEST_CONTROL."""
    directory = Path(os.environ["TEST_ARCHIVE"])
    archive = ArchiveSettings(
        directory=directory,
        restore_log=directory.parent / "restore-log.jsonl",
        level=int(os.environ["TEST_LEVEL"]),
        policy=Policy(keep=1),
        drill=DrillSettings(directory.parent / "drills"),
    )

    @asynccontextmanager
    async def open_source() -> AsyncIterator[str]:
        yield os.environ["TEST_SOURCE"]

    @asynccontextmanager
    async def open_ledger() -> AsyncIterator[DrillLedger]:
        async with Database(os.environ["TEST_CONTROL"]) as database:
            yield DrillLedger(database)

    executors: list[Executor[Any]] = [
        PostgresBackup(archive, open_source),
        PostgresVerify(archive),
        PostgresRotate(archive),
        RestoreDrill(archive, open_ledger),
    ]
    return Kinds(executors).executor(kind)
