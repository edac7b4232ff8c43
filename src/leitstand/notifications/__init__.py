"""Notifications: a queue in the database, and the ways in which its messages reach people."""

from leitstand.notifications.contact import CHANNELS, Contact, Transport, WebhookBody
from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.dispatcher import Dispatcher, SendingLimits, Tally
from leitstand.notifications.next_attempt import RetryPolicy
from leitstand.notifications.notification import Claimed, Draft, Notification, Status
from leitstand.notifications.outbox import CHANNEL, Addressee, Outbox
from leitstand.notifications.post_office import PostOffice
from leitstand.notifications.sender import Message, Sender

__all__ = [
    "CHANNEL",
    "CHANNELS",
    "Addressee",
    "Claimed",
    "Contact",
    "DeliveryError",
    "Dispatcher",
    "Draft",
    "Message",
    "Notification",
    "Outbox",
    "PostOffice",
    "RetryPolicy",
    "Sender",
    "SendingLimits",
    "Status",
    "Tally",
    "Transport",
    "WebhookBody",
]
