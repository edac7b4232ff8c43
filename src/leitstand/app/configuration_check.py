"""Checks of the configuration that need to know what its values are for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from leitstand.address import check_conninfo, conninfo_parts
from leitstand.alerts import parse_rule
from leitstand.app.hook_wiring import hook_checks
from leitstand.app.notification_wiring import DEFAULT
from leitstand.archive import Source
from leitstand.errors import UsageError
from leitstand.jobs import Trigger, TriggerType, build_schedule
from leitstand.notifications import parse_notify_rules
from leitstand.settings import (
    DetectorSettings,
    DowntimeSettings,
    LoadedSettings,
    Settings,
    SettingsError,
)

KeyCheck = tuple[str, Callable[[], object]]
"""A key, and what raises UsageError when its value cannot be used."""


def check_configuration(loaded: LoadedSettings) -> None:
    """Raise SettingsError that names each setting whose value cannot be used, and why."""
    problems = tuple(_problems(loaded.settings, loaded.origins))
    if problems:
        raise SettingsError(problems)


def _problems(settings: Settings, origins: Mapping[str, str]) -> Iterator[str]:
    for key, check in _checks(settings):
        try:
            check()
        except UsageError as error:
            # A key of a list's table stands where the table does.
            origin = origins.get(key) or origins.get(key.rpartition(".")[0])
            place = f"{origin}: " if origin else ""
            yield f"{place}{key}: {error.message}. {error.remedy or ''}".rstrip()


def _checks(settings: Settings) -> Iterator[KeyCheck]:
    for name in ("full", "incremental", "rotate", "drill", "prune"):
        yield f"protection.{name}", partial(_check_cron, getattr(settings.protection, name))
    yield from _downtime_checks(settings.downtimes)
    if control := settings.database.url.get_secret_value():
        yield "database.url", partial(check_conninfo, "it", control)
    if source := settings.backup.postgres.url.get_secret_value():
        yield "backup.postgres.url", partial(Source.parse, source)
    elif control and conninfo_parts(control) is not None:  # then that is what is backed up
        yield "database.url", partial(Source.parse, control)
    names = [contact.name for contact in settings.contact]
    for index, contact in enumerate(settings.contact):
        yield f"contact[{index}].name", partial(_check_name, contact.name, names[:index])
        yield f"contact[{index}].url", partial(_check_given, contact.url.get_secret_value())
    for index, detector in enumerate(settings.detector):
        yield f"detector[{index}].database_url", partial(_check_given, _url_of(detector))
    rules: dict[str, int] = {}
    for index, entry in enumerate(settings.alert):
        yield f"alert[{index}]", partial(_check_rule, entry, index, rules)
    yield from hook_checks(settings.hook)
    yield "notify", partial(parse_notify_rules, settings.notify)


def _downtime_checks(downtimes: DowntimeSettings) -> Iterator[KeyCheck]:
    source = downtimes.source.get_secret_value()
    url = downtimes.database_url.get_secret_value()
    if not source and not url:
        return
    # Imported here: the databases' drivers take 0.3 s, which most installations need not pay.
    from leitstand.downtimes import check_source, check_url  # noqa: PLC0415

    if source:
        yield "downtimes.source", partial(check_source, source)
    if url:
        yield "downtimes.database_url", partial(check_url, url)


def _check_cron(expression: str) -> None:
    build_schedule(Trigger(TriggerType.CRON, expression, "UTC"), datetime.now(UTC))


def _check_name(name: str, before: Sequence[str]) -> None:
    if not name or name in (DEFAULT, *before):
        raise UsageError(f"a contact has a name of its own, and not {DEFAULT!r}")


def _check_rule(entry: Mapping[str, Any], index: int, known: dict[str, int]) -> None:
    """Note the rule among those that are ``known``; of two of one name only one would be kept."""
    name = parse_rule(entry).full_name
    first = known.setdefault(name, index)
    if first != index:
        raise UsageError(
            f"it has the name of alert[{first}], {name!r}",
            remedy="Give it a name of its own: one that is made of metric and filters is cut.",
        )


def _url_of(detector: DetectorSettings) -> str:
    return detector.database_url.get_secret_value()


def _check_given(url: str) -> None:
    if not url:
        raise UsageError("it is missing", remedy="Write an address or a URL.")
