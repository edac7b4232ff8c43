"""Writes a message to the log: where nobody has set up anything else, and for trying things out."""

import structlog

from leitstand.notifications.sender import Message

log = structlog.get_logger(__name__)


class LogSender:
    """The channel ``log``."""

    async def send(self, message: Message) -> None:
        """One line, at the level warning: somebody should look."""
        log.warning(
            "notification",
            channel=message.channel,
            message_id=str(message.message_id),
            subject=message.subject,
            payloads=[dict(payload) for payload in message.payloads[:20]],
        )
