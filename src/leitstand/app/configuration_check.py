"""Checks of the configuration that need to know what its values are for."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from leitstand.address import check_conninfo, conninfo_parts
from leitstand.archive import Source
from leitstand.errors import UsageError
from leitstand.jobs import Trigger, TriggerType, build_schedule
from leitstand.settings import LoadedSettings, Settings, SettingsError


def check_configuration(loaded: LoadedSettings) -> None:
    """Raise SettingsError that names each setting whose value cannot be used, and why."""
    problems = tuple(_problems(loaded.settings, loaded.origins))
    if problems:
        raise SettingsError(problems)


def _problems(settings: Settings, origins: Mapping[str, str]) -> Iterator[str]:
    for key, check, value in _checks(settings):
        try:
            check(value)
        except UsageError as error:
            place = f"{origins[key]}: " if key in origins else ""
            yield f"{place}{key}: {error.message}. {error.remedy or ''}".rstrip()


def _checks(settings: Settings) -> Iterator[tuple[str, Callable[[str], object], str]]:
    for name in ("full", "incremental", "rotate", "drill", "prune"):
        yield f"protection.{name}", _check_cron, getattr(settings.protection, name)
    if control := settings.database.url.get_secret_value():
        yield "database.url", lambda url: check_conninfo("it", url), control
    if source := settings.backup.postgres.url.get_secret_value():
        yield "backup.postgres.url", Source.parse, source
    elif control and conninfo_parts(control) is not None:  # then that is what is backed up
        yield "database.url", Source.parse, control


def _check_cron(expression: str) -> None:
    build_schedule(Trigger(TriggerType.CRON, expression, "UTC"), datetime.now(UTC))
