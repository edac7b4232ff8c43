"""Decides from the age of its last heartbeat how a control server is, and who takes runs."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from leitstand.display import seconds

LATE_BEATS = 3
"""Intervals between heartbeats after which a server is stale: one may be late for any reason."""


class ServerState(StrEnum):
    """What may be expected of a control server."""

    ALIVE = "alive"
    DRAINING = "draining"
    """It ends what it runs and claims nothing more."""
    STALE = "stale"
    """Its heartbeats are late; its runs are still its own."""
    GONE = "gone"
    """It was silent for so long that others have released its runs."""


def server_state(
    silent_for: float, draining: bool, heartbeat: float, stale_after: float
) -> ServerState:
    """The state, from seconds; that a server is silent outweighs what it was asked to do."""
    if silent_for > stale_after:
        return ServerState.GONE
    if silent_for > min(LATE_BEATS * heartbeat, stale_after):
        return ServerState.STALE
    return ServerState.DRAINING if draining else ServerState.ALIVE


class Seen(Protocol):
    """What the sentence below needs to know of a server."""

    @property
    def instance(self) -> str:
        """Its name."""

    @property
    def state(self) -> ServerState:
        """How it is."""

    @property
    def silent_for(self) -> float:
        """Seconds since its last heartbeat."""


def why_nothing_starts(servers: Sequence[Seen]) -> str | None:
    """Why no control server takes runs at the moment, as a sentence; None if one does."""
    if any(server.state is ServerState.ALIVE for server in servers):
        return None
    if not servers:
        return "No control server is running, so nothing starts."
    there = [server for server in servers if server.state is not ServerState.GONE]
    if not there:
        last = seconds(min(server.silent_for for server in servers))
        return f"No control server is running, so nothing starts; the last was heard of {last} ago."
    return f"No control server takes runs at the moment: {', '.join(map(_told, there))}."


def _told(server: Seen) -> str:
    if server.state is ServerState.DRAINING:
        return f"{server.instance} is draining"
    return f"{server.instance} is silent for {seconds(server.silent_for)}"
