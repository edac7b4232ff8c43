"""Finds the way for each notification and has its sender send it."""

from collections.abc import Mapping
from pathlib import Path

from leitstand.notifications.contact import Contact, Transport, find_route
from leitstand.notifications.notification import Claimed
from leitstand.notifications.rendering import Rendering
from leitstand.notifications.sender import Message, Sender


class PostOffice:
    """Senders by transport, contacts by name, templates."""

    def __init__(
        self,
        senders: Mapping[Transport, Sender],
        contacts: Mapping[str, Contact],
        templates: Path | None = None,
        webhook_secret: str = "",
    ) -> None:
        self._senders = senders
        self._contacts = contacts
        self._rendering = Rendering(templates)
        self._webhook_secret = webhook_secret

    async def deliver(self, claimed: Claimed) -> None:
        """Send it; raises DeliveryError, permanent where nobody could ever take it."""
        one = claimed.notification
        route = find_route(one.channel, one.recipient, self._contacts, self._webhook_secret)
        payloads = (one.payload, *claimed.bundled)
        message = Message(
            message_id=one.message_id,
            channel=one.channel,
            route=route,
            payloads=payloads,
            subject=self._rendering.subject(route.transport, one.channel, payloads),
            body=self._rendering.body(route.transport, one.channel, payloads),
        )
        await self._senders[route.transport].send(message)
