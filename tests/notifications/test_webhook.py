"""Webhooks to a real web server, verified as receivers verify them."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook

from leitstand.errors import FailureClass
from leitstand.notifications import (
    Contact,
    DeliveryError,
    Dispatcher,
    Message,
    NotificationMetrics,
    Outbox,
    RetryPolicy,
    Status,
    Tally,
    Transport,
    WebhookBody,
)
from leitstand.notifications.contact import Route
from leitstand.notifications.post_office import PostOffice
from leitstand.notifications.webhook_sender import WebhookSender, judge, seconds_until
from leitstand.store.database import Database
from tests.execution.http_server import Asked, WebServer, web_server
from tests.jobs.scene import eventually

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with web_server() as server:
        yield server


def message(url: str, body: WebhookBody = WebhookBody.STANDARD, secret: str = SECRET) -> Message:
    route = Route(Transport.WEBHOOK, url, "ops", secret, body)
    payload = {"rule": "disk", "state": "firing", "value": 91.0, "labels": {"host": "db1"}}
    return Message(uuid4(), "alert", route, (payload,), "[FIRING] disk", "text")


async def test_a_receiver_can_verify_it(server: WebServer) -> None:
    sent = message(server.says("/hook"))
    await WebhookSender().send(sent)
    (asked,) = server.asked
    found = Webhook(SECRET).verify(asked.body, asked.headers)
    assert found["type"] == "leitstand.alert"
    assert found["data"] == dict(sent.payloads[0])
    assert asked.headers["webhook-id"] == f"msg_{sent.message_id}"


async def test_the_body_can_be_alertmanagers(server: WebServer) -> None:
    await WebhookSender().send(message(server.says("/hook"), WebhookBody.ALERTMANAGER))
    body = json.loads(server.asked[0].body)
    assert (body["version"], body["status"], body["receiver"]) == ("4", "firing", "ops")
    assert body["alerts"][0]["labels"] == {"host": "db1", "alertname": "disk"}
    assert body["commonLabels"] == {"host": "db1", "alertname": "disk"}


async def test_a_secret_that_is_none_fails_for_good(server: WebServer) -> None:
    with pytest.raises(DeliveryError, match="secret") as caught:
        await WebhookSender().send(message(server.says("/hook"), secret="whsec_"))
    assert caught.value.failure_class is FailureClass.PERMANENT
    assert server.asked == []


async def test_a_redirect_is_a_failure(server: WebServer) -> None:
    """Case 37: also when what it leads to would have answered 200."""
    ok = server.says("/ok")
    with pytest.raises(DeliveryError, match="302"):
        await WebhookSender().send(message(server.says("/hook", "302 Found", Location=ok)))
    assert [asked.target for asked in server.asked] == ["/hook"]


@pytest.mark.parametrize(
    ("status", "permanent"), [(400, True), (404, True), (410, True), (429, False), (503, False)]
)
def test_what_a_status_means(status: int, permanent: bool) -> None:
    with pytest.raises(DeliveryError) as caught:
        judge(status, None)
    assert (caught.value.failure_class is FailureClass.PERMANENT) is permanent


def test_retry_after_is_seconds_or_a_date() -> None:
    """Case 36."""
    now = datetime.now(UTC).replace(microsecond=0)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert seconds_until("120", now) == 120
    assert seconds_until(later, now) == 90
    assert seconds_until("soon", now) is None
    with pytest.raises(DeliveryError) as caught:
        judge(429, "120")
    assert caught.value.retry_after == 120


@pytest.mark.parametrize(
    ("asked", "least", "most"), [("120", 119, 145), ("99999", 3599, 4321), ("-5", 0, 1)]
)
async def test_a_pause_that_is_asked_for_is_kept(
    server: WebServer, database: Database, asked: str, least: float, most: float
) -> None:
    """Case 36: not before its time, an hour at most, and then delivered."""
    url = server.says("/hook", "429 Too Many", Retry_After=asked)
    outbox = Outbox(database)
    office = PostOffice({Transport.WEBHOOK: WebhookSender()}, {})
    dispatcher = Dispatcher(outbox, office.deliver, RetryPolicy(back_off=0.5, outage_back_off=0.5))
    one = await outbox.enqueue("webhook", url, {"n": 1})
    assert await dispatcher.process_due() == Tally(retried=1)
    due = await outbox.next_due()
    assert due is not None
    assert least < due < most
    server.says("/hook")
    async with database.connection() as connection:
        await connection.execute("UPDATE notifications SET next_attempt_at = now()")
    assert await dispatcher.process_due() == Tally(sent=1)
    assert (await outbox.get(one)).attempts == 2


async def test_a_receiver_that_fails_for_a_while_gets_each_once(
    server: WebServer, database: Database
) -> None:
    """Cases 26 and 43: one delivery after the recovery for each row, always under the same id."""
    well = False

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        status = "200 OK" if well else "500 Oh"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    url = server.does("/hook", answer)
    outbox = Outbox(database, max_attempts=100)
    office = PostOffice({Transport.WEBHOOK: WebhookSender()}, {"ops": Contact("ops", url)})
    policy = RetryPolicy(back_off=0.01, outage_back_off=0.05)
    workers = [Dispatcher(outbox, office.deliver, policy) for _ in range(2)]
    ids = [await outbox.enqueue("webhook", "ops", {"n": n}) for n in range(5)]
    assert sum(t.sent for t in await asyncio.gather(*(w.process_due() for w in workers))) == 0

    well, failed = True, len(server.asked)

    async def all_sent() -> bool | None:
        await asyncio.gather(*(worker.process_due() for worker in workers))
        found = [(await outbox.get(one)).status for one in ids]
        return set(found) == {Status.SENT} or None

    await eventually(all_sent)
    delivered = [asked.headers["webhook-id"] for asked in server.asked[failed:]]
    assert len(delivered) == len(set(delivered)) == 5
    assert set(delivered) == {asked.headers["webhook-id"] for asked in server.asked[:failed]}


async def test_no_secret_of_the_url_is_in_an_error(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Case 44: password, tokens in path and query; in logs at debug, and in metrics."""
    caplog.set_level("DEBUG")
    url = "http://user:hunter22@127.0.0.1:9/hooks/T0K3NPATH?key=QU3RYTOK"
    outbox = Outbox(database)
    office = PostOffice({Transport.WEBHOOK: WebhookSender()}, {})
    one = await outbox.enqueue("webhook", url)
    assert await Dispatcher(outbox, office.deliver).process_due() == Tally(retried=1)
    measured = await NotificationMetrics(outbox).collect()
    seen = f"{(await outbox.get(one)).as_dict()}{caplog.text}{measured}"
    assert [secret for secret in ("hunter22", "T0K3NPATH", "QU3RYTOK") if secret in seen] == []
