"""The values: a downtime as a monitoring core describes it, its key, and the events of its life."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple


class Kind(StrEnum):
    """What is in downtime."""

    HOST = "host"
    SERVICE = "service"


class EventType(IntEnum):
    """The kinds of events, by their numbers on the wire."""

    ADD = 1100
    DELETE = 1101
    LOAD = 1102
    START = 1103
    STOP = 1104


CANCELLED = 2
"""``attr`` of a STOP that a user caused; every other value means that the end time was reached."""


class Key(NamedTuple):
    """What identifies a downtime: the primary key of its rows, and in which tables they are.

    The id alone does not: it is used again on other hosts, by other cores, and by the same core
    after it lost its retention file. ``service_description`` is empty for hosts.
    """

    kind: Kind
    hostname: str
    service_description: str
    node_name: str
    scheduled_start_time: int
    internal_downtime_id: int


@dataclass(frozen=True, slots=True)
class Downtime:
    """A downtime as the core describes it in each of its events; times are Unix seconds."""

    kind: Kind
    host_name: str
    service_description: str
    author_name: str | None
    comment_data: str | None
    entry_time: int
    start_time: int
    end_time: int
    triggered_by: int | None
    downtime_id: int
    fixed: bool
    duration: int | None

    def key(self, node_name: str) -> Key:
        """Its key on the core that ``node_name`` stands for."""
        return Key(
            self.kind,
            self.host_name,
            self.service_description,
            node_name,
            self.start_time,
            self.downtime_id,
        )


class State(StrEnum):
    """What became of a downtime, in a word."""

    SCHEDULED = "scheduled"
    RUNNING = "running"
    OVERDUE = "overdue"
    """Its end has passed and nobody has said that it ended; the reaper will close it."""
    ENDED = "ended"
    CANCELLED = "cancelled"
    NEVER_STARTED = "never_started"
    REAPED = "reaped"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a downtime at ``timestamp`` (Unix seconds).

    ``timestamp_usec`` is 0 from senders that have none. ``document`` is the message as it came.
    """

    type: EventType
    attr: int
    timestamp: int
    timestamp_usec: int
    downtime: Downtime
    document: Mapping[str, Any]


def expected_end(row: Mapping[str, Any]) -> int:
    """When a downtime of that row ends by itself, in Unix seconds.

    A flexible one that has started ends its duration later, which can be after the end of the
    time in which it may start.
    """
    if row["is_fixed"] or not row["was_started"] or row["duration"] is None:
        return int(row["scheduled_end_time"])
    return int(row["actual_start_time"] + row["duration"])
