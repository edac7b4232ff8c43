"""A dispatcher in a process of its own, to be killed: ``worker CONNINFO SMTP_PORT AT_ONCE``.

It sends mail to that port of this machine and webhooks to wherever their URLs lead.
"""

import asyncio
import sys

from leitstand.notifications import Dispatcher, Outbox, RetryPolicy, SendingLimits, Transport
from leitstand.notifications.mail_sender import MailSender
from leitstand.notifications.post_office import PostOffice
from leitstand.notifications.sender import Sender
from leitstand.notifications.smtp_settings import SmtpSettings
from leitstand.notifications.webhook_sender import WebhookSender
from leitstand.store.database import Database

MARGIN = 1.0
DEADLINE = 4.0
"""Long, so that a busy machine is no reason for a second attempt: kills are to be the only one."""


async def main(conninfo: str, smtp_port: str, at_once: str) -> None:
    """Send until killed."""
    mail = MailSender(SmtpSettings(port=int(smtp_port), sender="leitstand@example.org"))
    senders: dict[Transport, Sender] = {Transport.EMAIL: mail, Transport.WEBHOOK: WebhookSender()}
    async with Database(conninfo) as database:
        limits = SendingLimits(DEADLINE, int(at_once), MARGIN)
        deliver = PostOffice(senders, {}).deliver
        dispatcher = Dispatcher(Outbox(database, 50), deliver, RetryPolicy(), limits)
        print("ready", flush=True)
        await dispatcher.run(conninfo)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
