"""Notifications as the settings want them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from leitstand.notifications import (
    AddressBook,
    Contact,
    Delivery,
    DeliverySettings,
    Dispatcher,
    JobNews,
    NotifyRule,
    Outbox,
    RetryPolicy,
    SendingLimits,
    SmtpSettings,
    WebhookBody,
    parse_notify_rules,
)
from leitstand.settings import Settings
from leitstand.store.database import Database

DEFAULT = "default"
"""The recipient that stands for ``notifications.recipients``."""


def audience_of(settings: Settings) -> Mapping[str, Sequence[str]]:
    """Who stands for a recipient's name."""
    return {DEFAULT: settings.notifications.recipients}


def address_book(settings: Settings) -> AddressBook:
    """Who can be written to by name."""
    return AddressBook(contacts_of(settings), audience_of(settings))


def notify_rules(settings: Settings) -> list[NotifyRule]:
    """Who hears of how runs end, as ``[[notify]]`` says."""
    return parse_notify_rules(settings.notify)


def make_outbox(settings: Settings, database: Database) -> Outbox:
    """The queue of notifications."""
    return Outbox(database, settings.notifications.max_attempts)


def job_news(settings: Settings, outbox: Outbox) -> JobNews:
    """What tells people how runs end."""
    return JobNews(outbox, notify_rules(settings), audience_of(settings))


def make_dispatcher(settings: Settings, outbox: Outbox) -> Dispatcher:
    """What sends the notifications of ``outbox``."""
    sending = settings.notifications
    return Dispatcher(
        outbox,
        Delivery(delivery_settings(settings)).deliver,
        RetryPolicy(sending.max_attempts, sending.back_off, sending.outage_back_off),
        SendingLimits(sending.deadline, sending.concurrency),
    )


def delivery_settings(settings: Settings) -> DeliverySettings:
    """How messages are sent, in the domain's own terms."""
    sending, smtp = settings.notifications, settings.smtp
    return DeliverySettings(
        smtp=SmtpSettings(
            host=smtp.host,
            port=smtp.port,
            sender=smtp.sender,
            user=smtp.user,
            password=smtp.password.get_secret_value(),
            security=smtp.security,
            ca_file=smtp.ca_file,
        ),
        contacts=contacts_of(settings),
        templates=Path(sending.templates) if sending.templates else None,
        webhook_secret=sending.webhook_secret.get_secret_value(),
        apprise_schemes=sending.apprise_schemes,
    )


def contacts_of(settings: Settings) -> dict[str, Contact]:
    """The ``[[contact]]`` tables by name."""
    return {
        each.name: Contact(
            each.name,
            each.url.get_secret_value(),
            each.secret.get_secret_value(),
            WebhookBody(each.body),
        )
        for each in settings.contact
    }
