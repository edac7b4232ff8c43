"""What a monitoring core says about the hosts and services that alerts are about."""

import asyncio
from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

import structlog

log = structlog.get_logger(__name__)

DEADLINE = 2.0
"""Seconds for the question about downtimes."""

HOST_LABELS = ("host", "hostname", "host_name")
SERVICE_LABELS = ("service", "service_name", "service_description")
"""Labels that name what a monitoring core watches; the first that a series has counts."""


class Place(NamedTuple):
    """A host, or a service on it."""

    host: str
    service: str | None = None


class PlaceDowntimes(Protocol):
    """Answers which places are in downtime at this moment."""

    async def covering(self, places: Collection[Place]) -> Mapping[Place, str]:
        """The places that a running downtime covers, each with the downtime's name for people.

        A downtime of a host covers its services. Whatever it raises counts as an answer of none.
        """


class NoPlaceDowntimes:
    """Nothing is monitored."""

    async def covering(self, places: Collection[Place]) -> Mapping[Place, str]:
        """None."""
        return {}


def place_of(labels: Mapping[str, str]) -> Place | None:
    """The place that a series is about, if its labels name a host."""
    host = _first(labels, HOST_LABELS)
    return Place(host, _first(labels, SERVICE_LABELS)) if host else None


def _first(labels: Mapping[str, str], names: Collection[str]) -> str | None:
    for name in names:
        if value := labels.get(name):
            return value
    return None


async def downtimes_of(downtimes: PlaceDowntimes, places: Collection[Place]) -> Mapping[Place, str]:
    """The places in downtime; none, with a warning, when that cannot be had.

    An alert during a downtime is better than one that is never told.
    """
    if not places:
        return {}
    try:
        async with asyncio.timeout(DEADLINE):
            return await downtimes.covering(places)
    except Exception as error:  # whatever the source is, alerts go on without it
        log.warning("downtimes are unknown", places=len(places), error=str(error).strip())
        return {}
