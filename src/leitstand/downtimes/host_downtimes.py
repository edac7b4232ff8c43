"""Downtimes as maintenance windows of the jobs bound to a host, and as silences of alerts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from leitstand.downtimes.downtime import expected_end
from leitstand.downtimes.moments import moment_of
from leitstand.downtimes.views import Views
from leitstand.jobs import DatedWindow, Window, look_again_at_postponed
from leitstand.store.database import Database

P = TypeVar("P", bound=tuple[str, str | None])


class MonitoredHosts:
    """What the downtime tables say about hosts: for jobs as windows, for alerts as silences."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def windows_for(self, hosts: Collection[str]) -> Sequence[Window]:
        """The downtimes of these hosts that run, and fixed ones that are to come.

        When a flexible one will begin nobody knows; it counts from its START on.
        """
        rows = await self._views.of_hosts(hosts)
        windows = [_window(row, named) for row in rows for named in _same(row["hostname"], hosts)]
        return [window for window in windows if window is not None]

    async def covering(self, places: Collection[P], now: float) -> dict[P, str]:
        """The places, each a host and a service or None, that a running downtime covers.

        A host's downtime covers its services. Each comes with the downtime's name for people.
        """
        running = await self._views.running(now, {host for host, _ in places})
        names = {_place_of(one.row): _name(one.row) for one in running}
        covered = {}
        for place in places:
            host, service = (None if name is None else name.casefold() for name in place)
            name = names.get((host, None)) or names.get((host, service))
            if name is not None:
                covered[place] = name
        return covered


def _place_of(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    service = row.get("service_description")
    return row["hostname"].casefold(), None if service is None else service.casefold()


def _name(row: Mapping[str, Any]) -> str:
    service = row.get("service_description")
    what = row["hostname"] if service is None else f"{service} on {row['hostname']}"
    return f"downtime {row['internal_downtime_id']} of {what}"


class WaitingJobs:
    """Has jobs that wait for a host's downtime looked at again when it changes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hosts_changed(self, hosts: Collection[str]) -> None:
        """Have the servers decide anew about what waits and is bound to one of ``hosts``."""
        async with self._database.transaction() as connection:
            await look_again_at_postponed(connection, hosts)


def _same(hostname: str, hosts: Iterable[str]) -> list[str]:
    """How jobs spell the host; MariaDB's tables do not tell capitals from small letters."""
    folded = hostname.casefold()
    return [host for host in hosts if host.casefold() == folded]


def _window(row: Mapping[str, Any], host: str) -> Window | None:
    start = _start(row)
    end = moment_of(expected_end(row))
    if start is None or end is None or start >= end:
        return None
    number = row["internal_downtime_id"]
    return Window(
        name=f"downtime {number} of {host}",
        opening=DatedWindow(start, end),
        hosts=frozenset({host}),
        reason=row["comment_data"] or "",
    )


def _start(row: Mapping[str, Any]) -> datetime | None:
    if row["was_started"]:
        return moment_of(row["actual_start_time"])
    return moment_of(row["scheduled_start_time"]) if row["is_fixed"] else None
