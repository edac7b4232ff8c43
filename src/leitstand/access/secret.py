"""Secrets that we hand out: made of random bytes, and recognised by their digest."""

import hashlib
import secrets

TOKEN = "lst_"  # noqa: S105 -- the beginning of each; scanners for leaked secrets go by it
LINK = "lsl_"
SESSION = "lss_"

RANDOM_BYTES = 32


def new_secret(beginning: str) -> str:
    """A secret that nobody can guess; ``beginning`` tells what it is for."""
    return beginning + secrets.token_urlsafe(RANDOM_BYTES)


def digest(secret: bytes) -> bytes:
    """What is stored of a secret.

    A plain hash is enough for random bytes. It also makes every comparison one of values that
    whoever guesses cannot choose: how long the look-up takes says nothing about a secret.
    """
    return hashlib.sha256(secret).digest()
