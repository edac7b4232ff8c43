"""A hook: a name that other programs call, and the secrets by which they prove who they are."""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field

from leitstand.errors import UsageError
from leitstand.events.catalogue import CatalogueEntry

TOLERANCE = 300.0
"""Seconds by which the time of a signed call may differ from ours, either way."""

SHORTEST_KEY = 24
"""Bytes; what Standard Webhooks asks for. Nobody can guess one, however often they try."""

SHORTEST_TOKEN = 16
"""Characters."""

FIELDS = {
    "*": "the body's fields, as the sender names them",
    "alerts": "of Alertmanager: its alerts, as many of the group as there is room for",
    "truncatedAlerts": "of Alertmanager: how many there is no room for",
}


@dataclass(frozen=True)
class Hook:
    """What may call, and what becomes of it.

    ``keys`` sign calls; ``tokens`` are digests of what senders show that cannot sign. There are
    several of one sort while an old one is replaced. At least one of either is needed.
    """

    name: str
    keys: tuple[bytes, ...] = field(default=(), repr=False)
    tokens: tuple[bytes, ...] = field(default=(), repr=False)
    tolerance: float = TOLERANCE
    tenant: str = "main"
    description: str = ""

    @property
    def event(self) -> str:
        """The name of its events, and their source."""
        return f"hook:{self.name}"

    def entry(self) -> CatalogueEntry:
        """What the catalogue says about its events."""
        told = self.description or f"somebody has called the webhook {self.name}"
        return CatalogueEntry(self.event, told, self.event, FIELDS)


def signing_key(secret: str) -> bytes:
    """The key that a secret of Standard Webhooks stands for: base64, with or without ``whsec_``.

    Raises UsageError.
    """
    encoded = secret.removeprefix("whsec_")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise UsageError("it is not base64", remedy=_NEW_SECRET) from None
    if len(key) < SHORTEST_KEY:
        raise UsageError(f"it has fewer than {SHORTEST_KEY} bytes", remedy=_NEW_SECRET)
    return key


def token_digest(token: str) -> bytes:
    """What is kept of a token; raises UsageError for one that no header can carry, or is short."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError("it has characters that no header can carry", remedy=_NEW_TOKEN)
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"it has fewer than {SHORTEST_TOKEN} characters", remedy=_NEW_TOKEN)
    return digest(token.encode())


def digest(secret: bytes) -> bytes:
    """Of one length whatever is compared."""
    return hashlib.sha256(secret).digest()


_NEW_SECRET = "Make one by `openssl rand -base64 32`; whsec_ may stand before it."  # noqa: S105
_NEW_TOKEN = "Make one by `openssl rand -hex 32`."  # noqa: S105
