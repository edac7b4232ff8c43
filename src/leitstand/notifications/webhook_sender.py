"""Sends webhooks that are signed by Standard Webhooks, over HTTP without redirects.

Imported when the first one is sent: httpx takes 0.2 s to import.
"""

import asyncio
import binascii
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from leitstand import __version__
from leitstand.logs import hush_revealing_libraries
from leitstand.notifications.alertmanager import alertmanager_body
from leitstand.notifications.contact import WebhookBody
from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.sender import Message
from leitstand.store.jsonb import json_text

hush_revealing_libraries()

SOON_BETTER = (408, 425, 429)
"""Statuses below 500 that another attempt may change."""


class WebhookSender:
    """The channel ``webhook``. The id (``webhook-id``) is stable over retries; see the docs."""

    def __init__(self) -> None:
        self._trust: ssl.SSLContext | None = None

    async def send(self, message: Message) -> None:
        """POST the message; returns on a status from 200 to 299."""
        body = json_text(document(message)).encode()
        if self._trust is None:  # all certificates of the system, which takes a while
            self._trust = await asyncio.to_thread(ssl.create_default_context)
        headers = {"Content-Type": "application/json", "User-Agent": f"leitstand/{__version__}"}
        try:
            # No timeout, no redirects: the dispatcher's deadline is for all of it, httpx's for each
            # read, and nobody has agreed to the place that a redirect leads to.
            async with httpx.AsyncClient(
                verify=self._trust,
                timeout=None,  # noqa: S113 -- see above
                trust_env=False,
            ) as client:
                request = client.build_request(
                    "POST",
                    message.route.target,
                    content=body,
                    headers={**headers, **signed(message, body)},
                )
                answer = await client.send(request, stream=True)  # its body interests nobody
                await answer.aclose()
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise DeliveryError(
                f"the receiver did not answer ({type(error).__name__})",
                permanent=isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol),
                outage=True,
            ) from None
        judge(answer.status_code, answer.headers.get("retry-after"))


def signed(message: Message, body: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks; without a secret there is no signature among them."""
    now = datetime.now(UTC)
    identity = f"msg_{message.message_id}"
    headers = {"webhook-id": identity, "webhook-timestamp": str(int(now.timestamp()))}
    secret = message.route.secret
    if not secret:
        return headers
    try:
        signature = Webhook(secret).sign(identity, now, body.decode())
    except (EmptyWebhookSecretError, binascii.Error, ValueError):
        raise DeliveryError(
            "the webhook's secret cannot be used",
            permanent=True,
            remedy="A secret is base64, as in whsec_…",
        ) from None
    return {**headers, "webhook-signature": signature}


def document(message: Message) -> Mapping[str, Any]:
    """The body: ``type``, ``timestamp`` and ``data``, or what Alertmanager would send."""
    if message.route.body is WebhookBody.ALERTMANAGER:
        return alertmanager_body(message.route.shown, message.payloads)
    data = [dict(payload) for payload in message.payloads]
    return {
        "type": f"leitstand.{message.channel}",
        "timestamp": datetime.now(UTC),
        "subject": message.subject,
        "data": data[0] if len(data) == 1 else {"notifications": data},
    }


def judge(status: int, retry_after: str | None) -> None:
    """Raise DeliveryError unless the receiver has taken it.

    A redirect is a failure: who follows it would post somewhere else, or not at all.
    """
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise DeliveryError(
            f"the receiver redirects ({status})",
            permanent=True,
            remedy="Write the URL that it leads to.",
        )
    passing = status >= 500 or status in SOON_BETTER
    raise DeliveryError(
        f"the receiver answered {status}",
        permanent=not passing,
        outage=passing,
        retry_after=seconds_until(retry_after, datetime.now(UTC)) if retry_after else None,
    )


def seconds_until(retry_after: str, now: datetime) -> float | None:
    """The pause that a ``Retry-After`` header asks for: seconds, or a date of HTTP."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())
