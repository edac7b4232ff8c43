"""Checks of the configuration that need to know what its values are for."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from leitstand.archive import Source
from leitstand.errors import UsageError
from leitstand.jobs import Trigger, TriggerType, build_schedule
from leitstand.settings import Settings


def check_configuration(settings: Settings) -> None:
    """Raise UsageError that names each setting whose value cannot be used, and why."""
    problems = list(_problems(settings))
    if problems:
        raise UsageError(
            "the configuration has values that cannot be used:\n" + "\n".join(problems),
            code="INVALID_SETTINGS",
            remedy="`leitstand config check` shows where each value comes from.",
        )


def _problems(settings: Settings) -> Iterator[str]:
    for name in ("full", "incremental", "rotate", "drill", "prune"):
        expression = getattr(settings.protection, name)
        yield from _problem(f"protection.{name}", _check_cron, expression)
    backup = settings.backup.postgres
    for key, url in (("database.url", settings.database.url), ("backup.postgres.url", backup.url)):
        if value := url.get_secret_value():
            yield from _problem(key, Source.parse, value)


def _problem(key: str, check: Callable[[str], object], value: str) -> Iterator[str]:
    try:
        check(value)
    except UsageError as error:
        yield f"  {key}: {error.message}. {error.remedy or ''}".rstrip()


def _check_cron(expression: str) -> None:
    build_schedule(Trigger(TriggerType.CRON, expression, "UTC"), datetime.now(UTC))
