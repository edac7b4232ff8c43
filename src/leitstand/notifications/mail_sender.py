"""Sends e-mail over SMTP; one connection and one recipient for each message.

Imported when the first mail is sent: aiosmtplib takes 0.2 s to import.
"""

import ssl
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP as MAIL_POLICY
from email.utils import format_datetime

import aiosmtplib

from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.sender import Message
from leitstand.notifications.smtp_settings import SmtpSettings


class MailSender:
    """The channel ``email``. A refusal of this mail (5xx) is permanent, everything else passes."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings

    async def send(self, message: Message) -> None:
        """Hand the mail to the server; returns when the server has taken it."""
        mail = compose(message, self._settings.sender)
        client = self._client()
        try:
            await self._log_in(client)
            await client.send_message(mail)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise _refusal(error) from None
        finally:
            client.close()  # without QUIT: what the server has taken may not be lost to its answer

    async def _log_in(self, client: aiosmtplib.SMTP) -> None:
        """Connect and log in; whatever is wrong here is not the message's fault."""
        settings = self._settings
        try:
            await client.connect()
            if settings.user:
                await client.login(settings.user, settings.password)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise DeliveryError(
                f"the mail server {settings.host}:{settings.port} cannot be used: {_said(error)}",
                outage=True,
                remedy="See [smtp] in docs/configuration.md.",
            ) from None

    def _client(self) -> aiosmtplib.SMTP:
        settings = self._settings
        local = settings.host in ("localhost", "127.0.0.1", "::1")
        tls = settings.security != "none"
        return aiosmtplib.SMTP(
            hostname=settings.host,
            port=settings.port,
            use_tls=settings.security == "tls",
            # On this machine it is taken if offered: None means that.
            start_tls=(None if local else True) if settings.security == "starttls" else False,
            tls_context=_trust(settings.ca_file, verify=not local) if tls else None,
            timeout=None,  # the dispatcher's deadline is for all of it
        )


def compose(message: Message, sender: str) -> EmailMessage:
    """The mail; raises DeliveryError, permanent, for what no mail can carry."""
    mail = EmailMessage(policy=MAIL_POLICY)
    try:
        mail["From"] = sender
        mail["To"] = message.route.target
        mail["Subject"] = message.subject
    except (ValueError, IndexError):  # what the parser of addresses raises
        raise DeliveryError("the address cannot stand in a mail", permanent=True) from None
    mail["Message-ID"] = f"<{message.message_id}@{sender.rpartition('@')[2].rstrip('>')}>"
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.body.encode("utf-8", "replace").decode())
    return mail


def _trust(ca_file: str, *, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file or None)
    if not verify and not ca_file:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refusal(error: Exception) -> DeliveryError:
    code = _code(error)
    if code is None:
        return DeliveryError(f"the mail server broke off: {_said(error)}", outage=True)
    return DeliveryError(f"the mail server refused: {_said(error)}", permanent=500 <= code < 600)


def _code(error: Exception) -> int | None:
    """The server's status, if it was that which answered."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return error.recipients[0].code if error.recipients else None
    if isinstance(error, aiosmtplib.SMTPServerDisconnected):
        return None
    return error.code if isinstance(error, aiosmtplib.SMTPResponseException) else None


def _said(error: Exception) -> str:
    """What went wrong in a line; a server that refuses a password does not repeat it."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused) and error.recipients:
        return _said(error.recipients[0])
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return f"{error.code} {' '.join(error.message.split())[:300]}"
    return " ".join(str(error).split())[:300] or type(error).__name__
