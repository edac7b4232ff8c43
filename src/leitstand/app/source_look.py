"""Looks at the log tables of the settings: whether each can be read as it is described there."""

import asyncio
from collections.abc import Mapping, Sequence

from leitstand.app.event_wiring import log_tables
from leitstand.errors import FailureClass, LeitstandError
from leitstand.events.detection import LogTable, SourceStatus, look_at
from leitstand.settings import Settings, SettingsError


async def check_sources(settings: Settings) -> list[str]:
    """Sentences about log tables that could not be looked at, as their database is away.

    Raises SettingsError for tables, columns and files that are not there.
    """
    unreadable = await _unreadable(settings)
    wrong = [
        _sentence(name, error)
        for name, error in unreadable.items()
        if error.failure_class is FailureClass.PERMANENT
    ]
    if wrong:
        raise SettingsError(tuple(wrong))
    return [_sentence(name, error) for name, error in unreadable.items()]


async def source_problems(settings: Settings) -> list[str]:
    """A sentence for each log table that cannot be read now."""
    return [_sentence(name, error) for name, error in (await _unreadable(settings)).items()]


async def states_now(settings: Settings, known: Sequence[SourceStatus]) -> list[SourceStatus]:
    """What is ``known`` of sources, with those that were never read and what is wrong by now."""
    unread = {table.name for table in log_tables(settings)} - {each.name for each in known}
    unreadable = await _unreadable(settings)
    return [
        _as_seen(status, unreadable)
        for status in [*known, *(SourceStatus.unread(name) for name in sorted(unread))]
    ]


def _as_seen(status: SourceStatus, unreadable: Mapping[str, LeitstandError]) -> SourceStatus:
    error = unreadable.get(status.name)
    return status if error is None else status.unavailable(error.sentence)


def _sentence(name: str, error: LeitstandError) -> str:
    return f"detector {name}: {error.sentence}. {error.remedy or ''}".rstrip()


async def _unreadable(settings: Settings) -> dict[str, LeitstandError]:
    """What keeps sources from being read, by name; all are asked at once, within half a minute."""
    tables = log_tables(settings)
    problems = await asyncio.gather(*(_problem(table) for table in tables))
    found = zip(tables, problems, strict=True)
    return {table.name: problem for table, problem in found if problem is not None}


async def _problem(table: LogTable) -> LeitstandError | None:
    try:
        if not table.is_offline:
            await look_at(table)
    except LeitstandError as error:
        return error
    return None
