"""The archive as the settings want it, and its job kinds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from leitstand.address import check_conninfo
from leitstand.archive import (
    ArchiveSettings,
    DrillLedger,
    DrillSettings,
    ExpectedAnswer,
    Policy,
    PostgresBackup,
    PostgresRotate,
    PostgresVerify,
    RestoreDrill,
)
from leitstand.execution import Executor
from leitstand.settings import Settings
from leitstand.store.database import Database
from leitstand.store.embedded import EmbeddedServer


def archive_settings(settings: Settings) -> ArchiveSettings:
    """The archive's settings in its own terms, with absolute paths: programs have their own cwd."""
    backup, drill = settings.backup.postgres, settings.drill
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
            drills=settings.protection.enabled,
        ),
        drill=DrillSettings(drill.directory.absolute(), queries, drill.timeout),
        bin_dir=backup.bin_dir,
    )


def archive_executors(settings: Settings) -> list[Executor[Any]]:
    """The archive's job kinds; what they need of the outside they open when they run."""
    archive = archive_settings(settings)

    @asynccontextmanager
    async def open_source() -> AsyncIterator[str]:
        async with backup_source(settings) as conninfo:
            yield conninfo

    @asynccontextmanager
    async def open_ledger() -> AsyncIterator[DrillLedger]:
        async with control_server_address(settings) as conninfo, Database(conninfo) as database:
            yield DrillLedger(database)

    return [
        PostgresBackup(archive, open_source),
        PostgresVerify(archive),
        PostgresRotate(archive),
        RestoreDrill(archive, open_ledger),
    ]


@asynccontextmanager
async def backup_source(settings: Settings) -> AsyncIterator[str]:
    """The connection string of the server that backups are taken from."""
    url = settings.backup.postgres.url.get_secret_value()
    if url:
        yield url
        return
    async with control_server_address(settings) as conninfo:
        yield conninfo


@asynccontextmanager
async def control_server_address(settings: Settings) -> AsyncIterator[str]:
    """The control database's connection string; the embedded server is up meanwhile."""
    url = settings.database.url.get_secret_value()
    if url:
        check_conninfo("database.url", url)
        yield url
        return
    async with EmbeddedServer(settings.server.data_dir) as embedded:
        yield embedded.conninfo
