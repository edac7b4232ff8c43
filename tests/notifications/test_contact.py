"""How a recipient is reached."""

import pytest

from leitstand.notifications import Contact, DeliveryError, Transport
from leitstand.notifications.contact import find_route
from leitstand.notifications.notification import shown_recipient


@pytest.mark.parametrize(
    ("channel", "recipient", "transport", "target"),
    [
        ("alert", "ops@example.org", Transport.EMAIL, "ops@example.org"),
        ("email", "mailto:ops@example.org", Transport.EMAIL, "ops@example.org"),
        ("job", "https://example.org/hook", Transport.WEBHOOK, "https://example.org/hook"),
        ("alert", "tgram://token/chat", Transport.APPRISE, "tgram://token/chat"),
        ("alert", "log", Transport.LOG, "log"),
        ("log", "ops@example.org", Transport.LOG, "ops@example.org"),
        ("alert", "chat", Transport.APPRISE, "slack://a/b/c"),
    ],
)
def test_the_form_of_the_recipient_decides(
    channel: str, recipient: str, transport: Transport, target: str
) -> None:
    route = find_route(channel, recipient, {"chat": Contact("chat", "slack://a/b/c")})
    assert (route.transport, route.target) == (transport, target)


@pytest.mark.parametrize(
    ("channel", "recipient"),
    [
        ("pigeon", "ops@example.org"),
        ("alert", "somebody"),
        ("email", "a@b, c@d"),
        ("email", "https://example.org"),
        ("webhook", "tgram://token"),
        ("apprise", "https://example.org"),
    ],
)
def test_what_cannot_be_reached_fails_for_good(channel: str, recipient: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        find_route(channel, recipient, {})
    assert caught.value.failure_class == "permanent"


def test_a_contacts_secret_goes_before_the_common_one() -> None:
    contacts = {"own": Contact("own", "https://a", "mine"), "plain": Contact("plain", "https://b")}
    assert find_route("webhook", "own", contacts, "common").secret == "mine"
    assert find_route("webhook", "plain", contacts, "common").secret == "common"


def test_urls_are_shown_without_what_may_be_secret() -> None:
    assert shown_recipient("tgram://123:secret/chat") == "tgram://***"
    assert shown_recipient("ops@example.org") == "ops@example.org"
