"""Decides how a recipient is reached: by its channel, its form, or the contact of that name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.notification import shown_recipient


class Transport(StrEnum):
    """The ways of sending."""

    EMAIL = "email"
    WEBHOOK = "webhook"
    LOG = "log"
    APPRISE = "apprise"


class WebhookBody(StrEnum):
    """What a webhook carries."""

    STANDARD = "standard"
    ALERTMANAGER = "alertmanager"


TOPICS = ("alert", "job")
"""Channels that say what it is about and leave the way of sending to the recipient."""

CHANNELS = (*Transport, *TOPICS)

_ADDRESS = re.compile(r"[^@\s,;:/<>]+@[^@\s,;:/<>]+")
_URL = re.compile(r"(?i)([a-z][a-z0-9+.-]*)://\S+")


@dataclass(frozen=True)
class Contact:
    """A recipient by name, so that its secrets stand in no table and on no page.

    ``target`` is an address or a URL; ``secret`` signs webhooks.
    """

    name: str
    target: str
    secret: str = ""
    body: WebhookBody = WebhookBody.STANDARD


@dataclass(frozen=True)
class Route:
    """The way to a recipient; ``shown`` is how it may be named."""

    transport: Transport
    target: str
    shown: str
    secret: str = ""
    body: WebhookBody = WebhookBody.STANDARD


def find_route(
    channel: str, recipient: str, contacts: Mapping[str, Contact], webhook_secret: str = ""
) -> Route:
    """The way to ``recipient``; raises DeliveryError, permanent, when there is none."""
    if channel not in CHANNELS:
        raise DeliveryError(
            f"there is no channel {channel!r}",
            permanent=True,
            remedy=f"Channels are {', '.join(CHANNELS)}.",
        )
    contact = contacts.get(recipient)
    target = contact.target if contact else recipient
    transport = Transport(channel) if channel in list(Transport) else transport_of(target)
    if transport is None or not fits(transport, target):
        raise DeliveryError(
            f"{shown_recipient(recipient)!r} cannot be reached by {channel}",
            permanent=True,
            remedy="Write an address, a URL, 'log', or the name of a [[contact]].",
        )
    return Route(
        transport=transport,
        target=target.removeprefix("mailto:"),
        shown=shown_recipient(recipient),
        secret=(contact.secret if contact else "") or webhook_secret,
        body=contact.body if contact else WebhookBody.STANDARD,
    )


def transport_of(target: str) -> Transport | None:
    """The way that a recipient's form means; None for what has none of the known forms."""
    if target == Transport.LOG:
        return Transport.LOG
    if _ADDRESS.fullmatch(target.removeprefix("mailto:")):
        return Transport.EMAIL
    url = _URL.fullmatch(target)
    if url is None:
        return None
    return Transport.WEBHOOK if url[1].lower() in ("http", "https") else Transport.APPRISE


def fits(transport: Transport, target: str) -> bool:
    """Whether the target is one that this way can reach; a log line reaches everybody."""
    match transport:
        case Transport.EMAIL:
            return _ADDRESS.fullmatch(target.removeprefix("mailto:")) is not None
        case Transport.WEBHOOK:
            return transport_of(target) is Transport.WEBHOOK
        case Transport.APPRISE:
            return transport_of(target) is Transport.APPRISE
    return True
