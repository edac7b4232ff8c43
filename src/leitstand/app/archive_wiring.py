"""The archive as the settings want it, and its job kinds."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from leitstand.address import conninfo_parts
from leitstand.app.addresses import (
    backup_source,
    begun_control_address,
    control_server_address,
)
from leitstand.app.integrity_wiring import integrity_settings
from leitstand.archive import (
    ArchiveSettings,
    CanaryChoice,
    CheckerSelftest,
    DirectoryLedger,
    Drill,
    DrillLedger,
    DrillSettings,
    ExpectedAnswer,
    JointDrill,
    ObjectArchive,
    ObjectBackupKind,
    ObjectCheckKind,
    ObjectDrill,
    Objectives,
    ObjectLedger,
    ObjectRepository,
    ObjectRotateKind,
    Policy,
    PostgresBackup,
    PostgresRotate,
    PostgresVerify,
    RestoreDrill,
    RevisionSample,
    SelftestLedger,
    TableChoice,
    drill_objects,
    drill_together,
)
from leitstand.errors import LeitstandError, UsageError
from leitstand.execution import Executor
from leitstand.settings import Settings
from leitstand.store.account import server_account
from leitstand.store.database import Database

log = structlog.get_logger(__name__)


def archive_settings(settings: Settings) -> ArchiveSettings:
    """The archive's settings in its own terms, with absolute paths: programs have their own cwd."""
    backup, drill = settings.backup.postgres, settings.drill
    tables = [TableChoice(**table.model_dump()) for table in drill.canaries]
    canaries = CanaryChoice(tuple(tables), drill.canary_limit)
    queries = [ExpectedAnswer(q.database, q.sql, q.expect) for q in drill.queries]
    return ArchiveSettings(
        directory=backup.directory.absolute(),
        restore_log=backup.restore_log.absolute(),
        level=backup.compression,
        policy=Policy(
            keep=backup.keep_generations,
            daily=backup.keep_daily,
            weekly=backup.keep_weekly,
            monthly=backup.keep_monthly,
            yearly=backup.keep_yearly,
            drills=settings.protection.enabled,
        ),
        drill=DrillSettings(drill.directory.absolute(), queries, drill.timeout, canaries),
        bin_dir=backup.bin_dir,
        config_files=backup.config_files,
        objectives=Objectives(**settings.objectives.model_dump()),
    )


@asynccontextmanager
async def directory_ledger(settings: Settings) -> AsyncIterator[DirectoryLedger | None]:
    """What is known of backup directories; None where the control database cannot be opened."""
    async with AsyncExitStack() as stack:
        try:
            conninfo = await stack.enter_async_context(begun_control_address(settings))
        except LeitstandError as error:
            log.info("the backup directory cannot be known again", reason=error.sentence)
            yield None
            return
        deadline = settings.database.timeout
        database = await stack.enter_async_context(Database(conninfo, deadline=deadline))
        yield DirectoryLedger(database)


def object_repository(settings: Settings) -> ObjectRepository:
    """Where snapshots of objects are, in the archive's own terms."""
    objects = settings.backup.objects
    return ObjectRepository(
        location=objects.repository,
        password=objects.password.get_secret_value(),
        home=settings.server.data_dir,
        program=objects.program,
        timeout=objects.timeout,
        keep=objects.keep_snapshots,
    )


def protected_directories(settings: Settings) -> tuple[Path, ...]:
    """What no restore of anything may replace: Leitstand's data, and all backups of all sorts."""
    archive, repository = archive_settings(settings), object_repository(settings).directory
    kept = (settings.server.data_dir.absolute(), archive.directory, archive.drill.directory)
    return kept if repository is None else (*kept, repository)


def object_archive(settings: Settings, database: Database) -> ObjectArchive:
    """The repository of objects with its ledger on ``database``."""
    repository = object_repository(settings)
    return ObjectArchive(repository, ObjectLedger(database), DrillLedger(database))


def object_drill(settings: Settings, snapshot: str | None, control: str) -> ObjectDrill:
    """A drill of objects as configured, of ``snapshot`` or the newest.

    Where the objects are a directory, a sample of them is compared with their table; ``control`` is
    the control database's connection string.
    """
    archive, integrity = archive_settings(settings), integrity_settings(settings)
    scratch = archive.drill_scratch(server_account())  # the same directory as the database's drills
    store = integrity.directory
    samples = None if store is None else RevisionSample(integrity, control)
    return ObjectDrill(scratch, archive.drill.phase_timeout, snapshot, samples, store)


def joint_drill(settings: Settings, snapshot: str | None, control: Database) -> JointDrill:
    """A drill of database and objects together; raises UsageError where that cannot be."""
    integrity = integrity_settings(settings)
    if integrity.directory is None:
        raise UsageError(
            "database and objects can be drilled together where the objects are a directory",
            remedy="Set objects.store.",
        )
    return JointDrill(
        archive=archive_settings(settings),
        objects=object_archive(settings, control),
        drill=object_drill(settings, snapshot, control.conninfo),
        rows=integrity,
        database=_database_of(integrity.database_url or control.conninfo),
    )


def _database_of(address: str) -> str:
    name = (conninfo_parts(address) or {}).get("dbname")
    if name is None:
        raise UsageError(
            "database and objects can be drilled together where the rows are in PostgreSQL",
            remedy="Set objects.database_url to a URL of PostgreSQL with the database's name.",
        )
    return name


def archive_executors(settings: Settings) -> list[Executor[Any]]:
    """The archive's job kinds; what they need of the outside they open when they run."""
    archive = archive_settings(settings)

    @asynccontextmanager
    async def open_source() -> AsyncIterator[str]:
        async with backup_source(settings) as conninfo:
            yield conninfo

    @asynccontextmanager
    async def open_database() -> AsyncIterator[Database]:
        async with control_server_address(settings) as conninfo, Database(conninfo) as database:
            yield database

    @asynccontextmanager
    async def open_directories() -> AsyncIterator[DirectoryLedger]:
        async with open_database() as database:
            yield DirectoryLedger(database)

    @asynccontextmanager
    async def open_ledger() -> AsyncIterator[DrillLedger]:
        async with open_database() as database:
            yield DrillLedger(database)

    @asynccontextmanager
    async def open_objects() -> AsyncIterator[ObjectArchive]:
        async with open_database() as database:
            yield object_archive(settings, database)

    async def run_object_drill(snapshot: str | None, say: Callable[[str], None]) -> Drill:
        async with open_database() as database:
            drill = object_drill(settings, snapshot, database.conninfo)
            return await drill_objects(drill, object_archive(settings, database), say)

    async def run_joint_drill(snapshot: str | None, say: Callable[[str], None]) -> Drill:
        async with open_database() as database:
            return await drill_together(joint_drill(settings, snapshot, database), say)

    @asynccontextmanager
    async def open_selftests() -> AsyncIterator[SelftestLedger]:
        async with open_database() as database:
            yield SelftestLedger(database)

    return [
        PostgresBackup(archive, open_source, open_directories),
        PostgresVerify(archive),
        PostgresRotate(archive),
        RestoreDrill(archive, open_ledger, run_object_drill, run_joint_drill),
        ObjectBackupKind(open_objects),
        ObjectCheckKind(open_objects),
        ObjectRotateKind(open_objects),
        CheckerSelftest(archive, open_selftests),
    ]
