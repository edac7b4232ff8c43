"""Examines an installation: hands what the settings say to the doctor's checks."""

import asyncio
import sys
from collections.abc import Awaitable
from datetime import UTC, datetime

import psycopg

from leitstand.app.addresses import backup_source as open_source
from leitstand.app.addresses import begun_control_address
from leitstand.app.archive_wiring import archive_settings, object_repository
from leitstand.app.event_wiring import log_tables
from leitstand.archive import (
    DirectoryLedger,
    DrillLedger,
    judge,
    list_generations,
    require_known_directory,
)
from leitstand.doctor import (
    Finding,
    backup_source,
    clock_skew,
    control_database,
    directory_writable,
    from_error,
    last_drill,
    newest_verified,
    postgres_programs,
    python_version,
    recovery_objectives,
    restic_program,
    room,
    schedules,
    server_running,
    sound,
)
from leitstand.errors import LeitstandError
from leitstand.events.detection import LogTable, look_at
from leitstand.execution import Kinds
from leitstand.jobs import JobLedger, Servers
from leitstand.settings import Settings
from leitstand.store.database import Database

_DISK = "disk of the backups"


async def examine(settings: Settings) -> list[Finding]:
    """All checks; where the control database does not answer, those that need it are left out."""
    return [
        *_machine(settings),
        *await _objects(settings),
        *await _databases(settings),
        *[await _log_table(table) for table in log_tables(settings)],
        *_backups(settings),
    ]


def _machine(settings: Settings) -> list[Finding]:
    data_dir = settings.server.data_dir
    return [
        python_version(sys.version_info[:2]),
        sound("configuration"),
        directory_writable("data directory", data_dir, "server.data_dir"),
        room("room for data", data_dir),
        postgres_programs(settings.backup.postgres.bin_dir),
    ]


async def _objects(settings: Settings) -> list[Finding]:
    """Objects are backed up where a password is configured."""
    repository = object_repository(settings)
    return [await restic_program(repository)] if repository.password else []


async def _log_table(table: LogTable) -> Finding:
    """Whether a log table is there as the configuration describes it."""
    name = f"log table {table.name}"
    try:
        await look_at(table)
    except LeitstandError as error:
        return from_error(name, error)
    return sound(name)


def _backups(settings: Settings) -> list[Finding]:
    archive = archive_settings(settings)
    directory = settings.backup.postgres.directory
    writable = directory_writable("backup directory", directory, "backup.postgres.directory")
    try:
        generations = list_generations(directory)
        newest = newest_verified(generations, datetime.now(UTC), archive.objectives)
    except LeitstandError as error:
        newest = from_error("newest verified backup", error)
    return [writable, room("room for backups", directory), newest]


async def _databases(settings: Settings) -> list[Finding]:
    try:
        async with begun_control_address(settings) as conninfo:
            # Together, since both may be slow to fail.
            found = await asyncio.gather(_of_control(settings, conninfo), _of_source(settings))
            return [*found[0], *found[1]]
    except LeitstandError as error:
        return [from_error("control database", error)]


async def _of_control(settings: Settings, conninfo: str) -> list[Finding]:
    found = await control_database(conninfo)
    return [found, *(await _of_ledgers(settings, conninfo) if found.ok else [])]


async def _of_source(settings: Settings) -> list[Finding]:
    async with open_source(settings) as conninfo:
        return [await asyncio.to_thread(backup_source, conninfo)]


async def _of_ledgers(settings: Settings, conninfo: str) -> list[Finding]:
    async with Database(conninfo, deadline=settings.database.timeout) as database:
        return [
            *await _tried("control server", _of_servers(settings, database)),
            *await _tried("job schedules", _of_jobs(database)),
            *await _tried("last restore drill", _of_drills(settings, database)),
            *await _tried(_DISK, _of_directory(settings, database)),
        ]


async def _tried(name: str, check: Awaitable[list[Finding]]) -> list[Finding]:
    """What a check finds; a question that the database refuses is a finding, too."""
    try:
        return await check
    except LeitstandError as error:
        return [from_error(name, error)]
    except psycopg.Error as error:
        return [from_error(name, LeitstandError(str(error).strip()))]


async def _of_servers(settings: Settings, database: Database) -> list[Finding]:
    loop = settings.loop
    servers = await Servers(database, loop.heartbeat, loop.stale_after).list_all()
    return [server_running(servers), clock_skew(servers)]


async def _of_jobs(database: Database) -> list[Finding]:
    return [schedules(await JobLedger(database, Kinds([])).list_all())]


async def _of_directory(settings: Settings, database: Database) -> list[Finding]:
    """Whether the backups that were taken are where they were taken to."""
    directory = archive_settings(settings).directory
    await require_known_directory(DirectoryLedger(database), directory)
    return [sound(_DISK)]


async def _of_drills(settings: Settings, database: Database) -> list[Finding]:
    archive, now = archive_settings(settings), datetime.now(UTC)
    drills = await DrillLedger(database).history()
    generations = await asyncio.to_thread(list_generations, archive.directory)
    promises = judge(archive.objectives, generations, archive.policy, drills, now)
    return [last_drill(drills[:1], now, archive.objectives), recovery_objectives(promises)]
