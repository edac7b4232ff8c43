"""A message: what happened, under a topic, with a number that grows in the order of commits."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from leitstand.json_document import to_line

GAP = "gap"
"""The topic of the message that says that older ones are no longer there."""

SUBSCRIBED = "subscribed"
"""The topic of the message that answers a subscription, for a client that asks for it."""


@dataclass(frozen=True)
class Message:
    """A message as every client gets it."""

    id: int
    topic: str
    time: datetime
    data: Any

    @cached_property
    def text(self) -> str:
        """The message as JSON; written once, however many get it."""
        return to_line({"id": self.id, "topic": self.topic, "time": self.time, "data": self.data})


def notice(message_id: int, topic: str, data: object) -> Message:
    """A message to one client, about the stream itself; its id is the place in the stream."""
    return Message(message_id, topic, datetime.now(UTC), data)
