"""Apprise, really, with its traps switched off."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from leitstand.errors import FailureClass
from leitstand.notifications import DeliveryError, Message, Transport
from leitstand.notifications.apprise_sender import AppriseSender
from leitstand.notifications.apprise_url import cleaned_url, without_secrets
from leitstand.notifications.contact import Route
from tests.execution.http_server import Asked, WebServer, web_server

TOKEN = "T0K3NPATH"


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with web_server() as server:
        yield server


def message(server: WebServer, path: str) -> Message:
    url = server.url(path, user="user:hunter22@").replace("http://", "json://")
    route = Route(Transport.APPRISE, url, "json://***")
    return Message(uuid4(), "alert", route, ({},), "subject ä", "body")


async def test_it_delivers(server: WebServer) -> None:
    server.says(f"/{TOKEN}")
    await AppriseSender().send(message(server, f"/{TOKEN}"))
    (asked,) = server.asked
    assert b"subject" in asked.body


async def test_a_dead_end_point_and_a_redirect_are_failures_that_tell_no_secret(
    server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Cases 37 and 44: also with optional=yes and redirect=yes in the URL."""
    caplog.set_level("DEBUG")
    server.says("/elsewhere")
    server.says(f"/{TOKEN}", "302 Found", Location=server.url("/elsewhere"))
    server.says("/gone", "404 Not Found")
    for path in (f"/{TOKEN}?redirect=yes&retry=3", "/gone?optional=yes&+X-Token=QU3RYTOK"):
        with pytest.raises(DeliveryError) as caught:
            await AppriseSender().send(message(server, path))
        text = f"{caught.value.as_dict()}{caplog.text}"
        assert [s for s in ("hunter22", TOKEN, "QU3RYTOK") if s in text] == []
    assert [asked.target.partition("?")[0] for asked in server.asked] == [f"/{TOKEN}", "/gone"]


async def test_one_that_hangs_is_killed_at_the_deadline(server: WebServer) -> None:
    """Case 34: a process and no thread, so nothing of it is left when this returns."""
    reached = asyncio.Event()

    async def hang(_: Asked, __: asyncio.StreamWriter) -> None:
        reached.set()
        await asyncio.Event().wait()

    server.does("/hang", hang)
    sending = asyncio.create_task(AppriseSender().send(message(server, "/hang")))
    async with asyncio.timeout(60):
        await reached.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending


@pytest.mark.parametrize("url", ["dbus://", "exec://rm", "mailto://a:b@c", "nonsense"])
def test_only_services_on_the_list_are_used(url: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        cleaned_url(url, {"slack", "json"})
    assert caught.value.failure_class is FailureClass.PERMANENT


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("json://h/a?optional=yes", "json://h/a"),
        ("json://h/a?Retry=3&format=text&%72edirect=yes", "json://h/a?format=text"),
        ("slack://a/b/c", "slack://a/b/c"),
    ],
)
def test_what_hides_failures_is_taken_out(url: str, cleaned: str) -> None:
    assert cleaned_url(url, {"slack", "json"}) == cleaned


def test_every_part_of_a_url_may_be_a_token() -> None:
    url = "slack://TokenAAAA/TokenBBBB%21/?key=TokenCCCC"
    text = "failed for TokenAAAA and TokenBBBB! with TokenCCCC, slack"
    assert without_secrets(text, url) == "failed for *** and *** with ***, slack"


async def test_a_url_that_means_nothing_fails_for_good() -> None:
    route = Route(Transport.APPRISE, "tgram://x", "tgram://***")
    with pytest.raises(DeliveryError) as caught:
        await AppriseSender().send(Message(uuid4(), "alert", route, ({},), "s", "b"))
    assert caught.value.failure_class is FailureClass.PERMANENT
