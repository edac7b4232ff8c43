"""The ledger of object repositories: the only code that touches the tables ``object_*``.

It lies in the control database and not beside the repository on purpose: what must be noticed is
that the repository, or something in it, is not there any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

CHECKS_READ = 1000
"""Checks that are looked at; more slices than that nobody reads one by one."""


@dataclass(frozen=True)
class Record:
    """A snapshot that Leitstand took; ``filled`` are those of ``sources`` that were not empty."""

    snapshot: str
    taken_at: datetime
    complete: bool
    files: int | None = None
    bytes: int | None = None
    sources: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class RepositoryCheck:
    """A check of the repository; without ``slice`` of its structure alone, 1 of 1 read all data."""

    started_at: datetime
    ok: bool
    slice: int | None = None
    slices: int | None = None
    findings: tuple[str, ...] = ()


class ObjectLedger:
    """Repositories by location, snapshots and checks by the repository's own id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def repository_at(self, location: str) -> str | None:
        """The id of the repository that was seen there; None where none ever was."""
        async with self._database.connection() as connection:
            row = await queries.seen_at(connection, location=location)
        return None if row is None else str(row["repository"])

    async def remember(self, location: str, repository: str, found: Sequence[Record]) -> None:
        """This repository is at ``location`` from now on, and these snapshots are in it."""
        async with self._database.transaction() as connection:
            await queries.remember(connection, location=location, repository=repository)
            for record in found:
                await queries.record_snapshot(connection, repository=repository, **_row(record))

    async def forget(self, location: str) -> None:
        """Whatever was at ``location`` may be replaced; its snapshots stay on record."""
        async with self._database.connection() as connection:
            await queries.forget(connection, location=location)

    async def record(self, repository: str, record: Record) -> None:
        """A snapshot was taken."""
        async with self._database.connection() as connection:
            await queries.record_snapshot(connection, repository=repository, **_row(record))

    async def records(self, repository: str) -> list[Record]:
        """The snapshots that should be there, the oldest first."""
        async with self._database.connection() as connection:
            rows = queries.snapshots(connection, repository=repository)
            return [_record(row) async for row in rows]

    async def removed(self, repository: str, snapshots: Sequence[str]) -> None:
        """These are not expected any more."""
        async with self._database.connection() as connection:
            await queries.removed(connection, repository=repository, snapshots=list(snapshots))

    async def record_check(self, repository: str, check: RepositoryCheck) -> None:
        """A check has ended."""
        async with self._database.connection() as connection:
            fields = {**vars(check), "findings": to_jsonb(list(check.findings))}
            await queries.record_check(connection, repository=repository, **fields)

    async def checks(self, repository: str) -> list[RepositoryCheck]:
        """The checks, newest first."""
        async with self._database.connection() as connection:
            rows = queries.checks(connection, repository=repository, max_rows=CHECKS_READ)
            return [_check(row) async for row in rows]


def _row(record: Record) -> dict[str, Any]:
    names = {"sources": list(record.sources), "filled": list(record.filled)}
    return {**vars(record), **names, "problems": to_jsonb(list(record.problems))}


def _record(row: Mapping[str, Any]) -> Record:
    fields = {name: row[name] for name in ("snapshot", "taken_at", "complete", "files", "bytes")}
    return Record(
        **fields,
        sources=tuple(row["sources"]),
        filled=tuple(row["filled"]),
        problems=tuple(row["problems"]),
    )


def _check(row: Mapping[str, Any]) -> RepositoryCheck:
    fields = {name: row[name] for name in ("started_at", "ok", "slice", "slices")}
    return RepositoryCheck(**fields, findings=tuple(row["findings"]))
