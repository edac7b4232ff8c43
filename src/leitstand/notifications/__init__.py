"""Notifications: a queue in the database, and the ways in which its messages reach people."""

from leitstand.notifications.address_book import AddressBook, AddressEntry
from leitstand.notifications.contact import CHANNELS, Contact, Transport, WebhookBody
from leitstand.notifications.delivery import Delivery, DeliverySettings
from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.dispatcher import Dispatcher, SendingLimits, Tally
from leitstand.notifications.job_news import JobNews
from leitstand.notifications.next_attempt import RetryPolicy
from leitstand.notifications.notification import (
    Claimed,
    Draft,
    Notification,
    Status,
    shown_recipient,
)
from leitstand.notifications.notification_metrics import NotificationMetrics
from leitstand.notifications.notify_rule import NotifyRule, parse_notify_rules
from leitstand.notifications.outbox import CHANNEL, Addressee, Outbox
from leitstand.notifications.send_notifications import SendNotifications
from leitstand.notifications.sender import Message, Sender
from leitstand.notifications.smtp_settings import SmtpSettings

__all__ = [
    "CHANNEL",
    "CHANNELS",
    "AddressBook",
    "AddressEntry",
    "Addressee",
    "Claimed",
    "Contact",
    "Delivery",
    "DeliveryError",
    "DeliverySettings",
    "Dispatcher",
    "Draft",
    "JobNews",
    "Message",
    "Notification",
    "NotificationMetrics",
    "NotifyRule",
    "Outbox",
    "RetryPolicy",
    "SendNotifications",
    "Sender",
    "SendingLimits",
    "SmtpSettings",
    "Status",
    "Tally",
    "Transport",
    "WebhookBody",
    "parse_notify_rules",
    "shown_recipient",
]
