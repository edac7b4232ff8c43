"""A mail server (aiosmtpd) that keeps what it takes and refuses what the test wants refused."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.execution.http_server import CERTIFICATE, CERTIFICATES


@dataclass
class MailServer:
    """Mails in order of arrival; ``refusals`` are answers to RCPT, by address."""

    port: int = 0
    raw: list[bytes] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    silent_after_data: Callable[[], bool] = lambda: False
    encrypted: list[bool] = field(default_factory=list)

    @property
    def mails(self) -> list[EmailMessage]:
        """What was taken."""
        return [_parsed(raw) for raw in self.raw]


class _Handler:
    """What aiosmtpd calls, which looks at every attribute for each connection."""

    def __init__(self, kept: MailServer) -> None:
        self._kept = kept

    async def handle_RCPT(  # noqa: N802 -- aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if refusal := self._kept.refusals.get(address):
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self._kept.raw.append(envelope.content)
        self._kept.encrypted.append(session.ssl is not None)
        if self._kept.silent_after_data():
            await asyncio.Event().wait()
        return "250 taken"


def _parsed(raw: bytes) -> EmailMessage:
    message = message_from_bytes(raw, policy=default)
    assert isinstance(message, EmailMessage)
    return message


@asynccontextmanager
async def mail_server(
    *, tls: bool = False, port: int = 0, host: str = "127.0.0.1"
) -> AsyncIterator[MailServer]:
    """A server on the loopback interface, gone at the end."""
    kept = MailServer()
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, CERTIFICATES / "key.pem")
    connections: list[SMTP] = []
    handler = _Handler(kept)
    loop = asyncio.get_running_loop()

    def connected() -> SMTP:
        connection = SMTP(handler, tls_context=context, hostname="mail.test", loop=loop)
        connections.append(connection)
        return connection

    listener = await loop.create_server(connected, host, port)
    kept.port = listener.sockets[0].getsockname()[1]
    try:
        yield kept
    finally:
        listener.close()
        for connection in connections:
            if connection.transport is not None:
                connection.transport.close()
        await listener.wait_closed()
        await asyncio.sleep(0)
