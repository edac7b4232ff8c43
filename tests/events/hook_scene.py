"""Senders of webhooks; the signatures are made by the convention's own library."""

import base64
import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from standardwebhooks.webhooks import Webhook

from leitstand.events.webhooks import Hook, signing_key, token_digest


def new_secret() -> str:
    """As the convention writes them."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


SECRET, OLD_SECRET, OTHER_SECRET = new_secret(), new_secret(), new_secret()
TOKEN, OLD_TOKEN = "5e" * 32, "0d" * 32  # fixed: tests are named after them

SIGNED = Hook("shop", keys=(signing_key(SECRET), signing_key(OLD_SECRET)))
BEARER = Hook("alertmanager", tokens=(token_digest(TOKEN), token_digest(OLD_TOKEN)))
BOTH = Hook("both", keys=SIGNED.keys[:1], tokens=BEARER.tokens[:1], tenant="acme")
HOOKS = (SIGNED, BEARER, BOTH)


@dataclass
class Sender:
    """Calls ``path`` of a site; ``seconds`` is the time that it signs with, from now."""

    client: httpx.AsyncClient
    path: str = "/hooks/shop"
    secret: str = SECRET
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, number: str, payload: Any = None, **other: Any) -> httpx.Response:
        """A signed call; ``other`` are headers, of which None leaves one out."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload or {}).encode()
        headers = {**signed(self.secret, number, body, self.seconds), **self.headers}
        for name, value in other.items():
            headers[name.replace("_", "-")] = value
        given = {name: value for name, value in headers.items() if value is not None}
        return await self.client.post(self.path, content=body, headers=given)


def signed(secret: str, number: str, body: bytes, seconds: float = 0.0) -> dict[str, str]:
    """The headers of a signed call."""
    stamp = int(time.time() + seconds)
    moment = datetime.fromtimestamp(stamp, UTC)
    return {
        "content-type": "application/json",
        "webhook-id": number,
        "webhook-timestamp": str(stamp),
        "webhook-signature": Webhook(secret).sign(number, moment, body.decode()),
    }
