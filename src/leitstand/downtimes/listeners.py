"""What the rest of Leitstand is told of downtimes; `app` connects it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from leitstand.downtimes.news import Happened

TOPIC = "statusngin_downtimes"
"""The topic under which messages are published, whatever the queue is called."""


class Broadcast(Protocol):
    """Hands messages to whoever listens, at any control server."""

    async def publish_all(self, topic: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Publish messages as they came, in this order, all or none. Raises LeitstandError."""


class Announcer(Protocol):
    """Takes Leitstand's own events."""

    async def announce(self, happenings: Sequence[Happened]) -> None:
        """Store them, all or none, but for those whose identity is known. Raises LeitstandError."""


class JobsOfHosts(Protocol):
    """Knows which jobs wait for a host's downtime."""

    async def hosts_changed(self, hosts: Collection[str]) -> None:
        """Decide anew about what waits for downtimes of these hosts."""


class NobodyListens:
    """For where there is nobody to tell."""

    async def publish_all(self, topic: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Nothing."""

    async def hosts_changed(self, hosts: Collection[str]) -> None:
        """Nothing."""


NOBODY = NobodyListens()
