"""The archive's executors for worker processes of the tests, set up by environment variables."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leitstand.archive import (
    ArchiveSettings,
    DirectoryLedger,
    Drill,
    DrillLedger,
    DrillSettings,
    ObjectArchive,
    ObjectBackupKind,
    ObjectCheckKind,
    ObjectDrill,
    ObjectLedger,
    ObjectRepository,
    ObjectRotateKind,
    Policy,
    PostgresBackup,
    PostgresRotate,
    PostgresVerify,
    RestoreDrill,
    drill_objects,
)
from leitstand.execution import Executor, Kinds
from leitstand.store.database import Database


def make(kind: str) -> Executor[Any]:
    """The executor of ``kind``, on TEST_ARCHIVE, TEST_SOURCE and TEST_CONTROL."""
    directory = Path(os.environ["TEST_ARCHIVE"])
    archive = ArchiveSettings(
        directory=directory,
        restore_log=directory.parent / "restore-log.jsonl",
        level=int(os.environ.get("TEST_LEVEL", "1")),
        policy=Policy(keep=1),
        drill=DrillSettings(directory.parent / "drills"),
    )

    @asynccontextmanager
    async def open_source() -> AsyncIterator[str]:
        yield os.environ["TEST_SOURCE"]

    @asynccontextmanager
    async def open_directories() -> AsyncIterator[DirectoryLedger]:
        async with Database(os.environ["TEST_CONTROL"]) as database:
            yield DirectoryLedger(database)

    @asynccontextmanager
    async def open_ledger() -> AsyncIterator[DrillLedger]:
        async with Database(os.environ["TEST_CONTROL"]) as database:
            yield DrillLedger(database)

    @asynccontextmanager
    async def open_objects() -> AsyncIterator[ObjectArchive]:
        async with Database(os.environ["TEST_CONTROL"]) as database:
            repository = ObjectRepository(
                str(directory / "repository"), os.environ["TEST_PASSWORD"], directory / "home"
            )
            yield ObjectArchive(repository, ObjectLedger(database), DrillLedger(database))

    async def run_object_drill(snapshot: str | None, say: Callable[[str], None]) -> Drill:
        async with open_objects() as objects:
            drill = ObjectDrill(directory / "drills", snapshot=snapshot)
            return await drill_objects(drill, objects, say)

    executors: list[Executor[Any]] = [
        PostgresBackup(archive, open_source, open_directories),
        PostgresVerify(archive),
        PostgresRotate(archive),
        RestoreDrill(archive, open_ledger, run_object_drill, run_object_drill),
        ObjectBackupKind(open_objects),
        ObjectCheckKind(open_objects),
        ObjectRotateKind(open_objects),
    ]
    return Kinds(executors).executor(kind)
