"""Opens the post office when the first message is to be sent.

Its libraries (mail, HTTP, templates) take most of a second to import: every command would pay.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leitstand.notifications.contact import Contact, Transport
from leitstand.notifications.log_sender import LogSender
from leitstand.notifications.notification import Claimed
from leitstand.notifications.sender import Sender
from leitstand.notifications.smtp_settings import SmtpSettings

if TYPE_CHECKING:
    from leitstand.notifications.post_office import PostOffice


@dataclass(frozen=True)
class DeliverySettings:
    """How messages are sent; empty ``apprise_schemes`` mean the usual services."""

    smtp: SmtpSettings = field(default_factory=SmtpSettings)
    contacts: Mapping[str, Contact] = field(default_factory=dict)
    templates: Path | None = None
    webhook_secret: str = ""
    apprise_schemes: Sequence[str] = ()


class Delivery:
    """Delivers claimed notifications."""

    def __init__(self, settings: DeliverySettings) -> None:
        self._settings = settings
        self._office: PostOffice | None = None

    async def deliver(self, claimed: Claimed) -> None:
        """As ``PostOffice.deliver``."""
        if self._office is None:
            self._office = await asyncio.to_thread(open_office, self._settings)
        await self._office.deliver(claimed)


def open_office(settings: DeliverySettings) -> "PostOffice":
    """The post office with all senders; imports them."""
    from leitstand.notifications.apprise_sender import AppriseSender  # noqa: PLC0415
    from leitstand.notifications.apprise_url import DEFAULT_SCHEMES  # noqa: PLC0415
    from leitstand.notifications.mail_sender import MailSender  # noqa: PLC0415
    from leitstand.notifications.post_office import PostOffice  # noqa: PLC0415
    from leitstand.notifications.webhook_sender import WebhookSender  # noqa: PLC0415

    senders: dict[Transport, Sender] = {
        Transport.EMAIL: MailSender(settings.smtp),
        Transport.WEBHOOK: WebhookSender(),
        Transport.LOG: LogSender(),
        Transport.APPRISE: AppriseSender(settings.apprise_schemes or DEFAULT_SCHEMES),
    }
    return PostOffice(senders, settings.contacts, settings.templates, settings.webhook_secret)
