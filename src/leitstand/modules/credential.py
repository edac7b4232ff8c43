"""A service credential: a client id, a secret that is shown once, and what is kept of it."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

NOBODY = bytes(32)
"""Stands for the digest of an id that does not exist, so that such a call costs the same."""


@dataclass(frozen=True)
class Credential:
    """A fresh credential; the only moment at which its secret is known."""

    client_id: str
    secret: str

    @classmethod
    def generate(cls) -> Self:
        """16 and 32 random bytes, in hexadecimal digits."""
        return cls(secrets.token_hex(16), secrets.token_hex(32))


@dataclass(frozen=True)
class CredentialInfo:
    """What is known of a credential that was handed out."""

    client_id: str
    module: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    valid: bool

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``list_credentials``."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def as_dict(self) -> dict[str, Any]:
        """The credential's JSON shape; without the secret, which nobody has."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def digest(secret: bytes) -> bytes:
    """What is stored of a secret. It is random, so that a fast hash without salt is enough."""
    return hashlib.sha256(secret).digest()


def matches(secret: bytes, stored: bytes | None) -> bool:
    """Whether the secret is the stored one; takes as long when there is none (None)."""
    same = hmac.compare_digest(digest(secret), NOBODY if stored is None else stored)
    return same and stored is not None
