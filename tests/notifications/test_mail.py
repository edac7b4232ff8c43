"""Mail to a real SMTP server."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from leitstand.notifications import (
    DeliveryError,
    Dispatcher,
    Message,
    Outbox,
    RetryPolicy,
    SendingLimits,
    Status,
    Tally,
    Transport,
)
from leitstand.notifications.contact import Route
from leitstand.notifications.mail_sender import MailSender, compose
from leitstand.notifications.post_office import PostOffice
from leitstand.notifications.smtp_settings import SmtpSettings
from leitstand.store.database import Database
from tests.execution.http_server import CERTIFICATE
from tests.jobs.scene import eventually
from tests.notifications.mail_server import mail_server
from tests.ports import free_port

SENDER = "leitstand@example.org"


def sending(database: Database, port: int, deadline: float = 5.0) -> tuple[Outbox, Dispatcher]:
    outbox = Outbox(database)
    sender = MailSender(SmtpSettings(port=port, sender=SENDER))
    office = PostOffice({Transport.EMAIL: sender}, {})
    policy = RetryPolicy(back_off=0.01, outage_back_off=0.05)
    return outbox, Dispatcher(outbox, office.deliver, policy, SendingLimits(deadline, 2))


async def test_a_mail_arrives_with_its_facts(database: Database) -> None:
    async with mail_server() as server:
        outbox, dispatcher = sending(database, server.port)
        payload = {"rule": "disk", "state": "firing", "value": 91, "labels": {"host": "db1"}}
        one = await outbox.enqueue("alert", "ops@example.org", payload)
        assert await dispatcher.process_due() == Tally(sent=1)
        (mail,) = server.mails
        assert mail["Subject"] == "[FIRING] disk host=db1"
        assert (mail["To"], mail["From"]) == ("ops@example.org", SENDER)
        message_id = (await outbox.get(one)).message_id
        assert mail["Message-ID"] == f"<{message_id}@example.org>"
        assert "value: 91" in mail.get_content()
        assert mail["Auto-Submitted"] == "auto-generated"


async def test_a_server_that_was_away_gets_it_at_the_second_attempt(database: Database) -> None:
    """Case 30."""
    port = free_port()
    outbox, dispatcher = sending(database, port)
    one = await outbox.enqueue("email", "ops@example.org", {"message": "hello"})
    assert await dispatcher.process_due() == Tally(retried=1)
    failed = await outbox.get(one)
    assert failed.last_error is not None
    assert "cannot be used" in failed.last_error

    async with mail_server(port=port) as server:
        await _until_sent(outbox, dispatcher, one)
        assert len(server.mails) == 1
    assert (await outbox.get(one)).attempts == 2


async def test_a_refusal_is_the_refused_ones_alone(database: Database) -> None:
    """Cases 32 and 35: the good one gets exactly one mail, the bad one is dead."""
    async with mail_server() as server:
        server.refusals = {"bad@example.org": "550 no such user"}
        outbox, dispatcher = sending(database, server.port)
        good = await outbox.enqueue("email", "good@example.org", {"message": "x"})
        bad = await outbox.enqueue("email", "bad@example.org", {"message": "x"})
        assert await dispatcher.process_due() == Tally(sent=1, failed=1)
        assert len(server.mails) == 1
        assert (await outbox.get(good)).status is Status.SENT
        dead = await outbox.get(bad)
        assert dead.last_error == "the mail server refused: 550 no such user"


async def test_a_busy_mailbox_is_tried_again(database: Database) -> None:
    async with mail_server() as server:
        server.refusals = {"ops@example.org": "451 try later"}
        outbox, dispatcher = sending(database, server.port)
        one = await outbox.enqueue("email", "ops@example.org", {"message": "x"})
        assert await dispatcher.process_due() == Tally(retried=1)
        server.refusals = {}
        await _until_sent(outbox, dispatcher, one)


async def test_silence_after_the_data_repeats_the_same_message_id(database: Database) -> None:
    """Case 43: nobody can know whether it was taken, but the receiver can tell a repetition."""
    async with mail_server() as server:
        silences = iter([True, False])
        server.silent_after_data = lambda: next(silences)
        outbox, dispatcher = sending(database, server.port, deadline=1.0)
        one = await outbox.enqueue("email", "ops@example.org", {"message": "x"})
        assert await dispatcher.process_due() == Tally(retried=1)
        await _until_sent(outbox, dispatcher, one)
        first, second = server.mails
        assert first["Message-ID"] == second["Message-ID"]


@pytest.mark.parametrize("drip", [b"", b"220-"])
async def test_a_listener_that_says_nothing_is_cut_off(database: Database, drip: bytes) -> None:
    """Case 33: at the total deadline, also when it drips."""

    async def mumble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while drip and not reader.at_eof():
                writer.write(drip + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0.05)
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(mumble, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        outbox, dispatcher = sending(database, port, deadline=0.5)
        one = await outbox.enqueue("email", "ops@example.org", {"message": "x"})
        assert await dispatcher.process_due() == Tally(retried=1)
        assert (await outbox.get(one)).last_error == "it was not taken within 0.5 s"


async def test_starttls_checks_the_certificate() -> None:
    """It is of 127.0.0.1; under another name nothing is said to the server."""
    async with mail_server(tls=True, host="0.0.0.0") as server:
        known = SmtpSettings(port=server.port, ca_file=str(CERTIFICATE))
        await MailSender(known).send(message("ops@example.org"))
        with pytest.raises(DeliveryError, match="certificate"):
            await MailSender(replace(known, host="127.0.0.2")).send(message("ops@example.org"))
    assert server.encrypted == [True]


async def test_a_server_without_starttls_gets_no_password() -> None:
    async with mail_server(host="0.0.0.0") as server:
        settings = SmtpSettings(host="127.0.0.2", port=server.port, user="u", password="hunter22")
        with pytest.raises(DeliveryError, match="STARTTLS"):
            await MailSender(settings).send(message("ops@example.org"))
    assert server.raw == []


def test_long_and_strange_texts_make_a_valid_mail() -> None:
    """Case 39: no line of more than 998 octets, whatever the payload holds."""
    text = compose(message("ops@example.org", "ä" * 5000 + "\ud800"), SENDER).as_bytes()
    assert max(len(line) for line in text.splitlines()) <= 998


@pytest.mark.parametrize("address", ["a@b\r\nBcc: c@d", "a@b, c@d"])
def test_an_address_cannot_add_headers_or_people(address: str) -> None:
    try:
        mail = compose(message(address), SENDER)
    except DeliveryError:
        return
    assert mail["Bcc"] is None


def message(address: str, body: str = "text") -> Message:
    route = Route(Transport.EMAIL, address, address)
    return Message(uuid4(), "email", route, ({},), "subject", body)


async def _until_sent(outbox: Outbox, dispatcher: Dispatcher, one: int) -> None:
    async def sent() -> bool | None:
        await dispatcher.process_due()
        return (await outbox.get(one)).status is Status.SENT or None

    await eventually(sent)
