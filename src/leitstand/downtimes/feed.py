"""What a message queue looks like to the consumer, whichever it is."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from leitstand.errors import LeitstandError, UnavailableError


class FeedError(UnavailableError):
    """The message queue does not answer, or the connection to it was lost."""

    code = "DOWNTIME_QUEUE"


class QueueTakenError(FeedError):
    """Somebody else consumes from the queue, and order would be lost with two."""

    code = "DOWNTIME_QUEUE_TAKEN"


class QueueMismatchError(LeitstandError):
    """The queue or exchange exists with other flags than the configuration says."""

    code = "DOWNTIME_QUEUE_FLAGS"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as the queue handed it over; ``tag`` is the queue's name for it.

    ``again``: it may have been handed over before, to somebody who did not acknowledge it.
    """

    body: bytes
    tag: object
    again: bool


class Feed(Protocol):
    """An open connection to a queue. Every method raises FeedError when it is lost.

    What was not acknowledged when the connection ends, the queue hands over anew.
    """

    async def next_batch(self, most: int) -> Sequence[Delivery]:
        """The next messages in order, at least one and at most ``most``; waits for the first."""

    async def acknowledge(self, batch: Sequence[Delivery]) -> None:
        """Let the queue forget the messages of a batch."""

    async def depth(self) -> int:
        """How many messages wait in the queue, beside those that were handed over."""


class Source(Protocol):
    """Where messages come from."""

    name: str

    async def check(self) -> None:
        """Raise QueueMismatchError if the queue has other flags, FeedError if it is away."""

    def connect(self) -> AbstractAsyncContextManager[Feed]:
        """Begin to consume, alone. Raises as ``check``, and QueueTakenError."""
