"""What a way of sending is: one method, and the message that it is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from leitstand.notifications.contact import Route


@dataclass(frozen=True)
class Message:
    """One message to one recipient; ``message_id`` is the same in every attempt.

    ``payloads`` holds what is told: of one notification, or of all that share the message.
    """

    message_id: UUID
    channel: str
    route: Route
    payloads: tuple[Mapping[str, Any], ...]
    subject: str
    body: str


class Sender(Protocol):
    """Sends messages in one way."""

    async def send(self, message: Message) -> None:
        """Return when the far side has taken it; raise DeliveryError when it has not.

        Cut off by cancellation at the deadline. Whatever else it raises counts as transient.
        """
