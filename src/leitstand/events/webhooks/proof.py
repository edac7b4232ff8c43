"""Whether a call comes from whom a hook waits for: by signature, or by bearer token.

Signatures are those of https://www.standardwebhooks.com: HMAC-SHA256 over ``id.timestamp.body``.
Comparisons take the same time whatever is wrong.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from leitstand.errors import LeitstandError, UsageError
from leitstand.events.webhooks.hook import Hook, digest

SIGNATURES = 16
"""Signatures of one call that are looked at; more than two or three make no sense."""

_ID = re.compile(r"[\x21-\x7e]{1,256}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


class CallRefusedError(LeitstandError):
    """The call does not prove who sends it; ``code`` says in which way."""

    code = "WRONG_SIGNATURE"


class MessageIdError(UsageError):
    """The sender's id of the message is none."""

    code = "WRONG_MESSAGE_ID"


@dataclass(frozen=True)
class Call:
    """What a call says beside its body, as it stands in its headers; None: nothing."""

    message_id: str | None = None
    timestamp: str | None = None
    signatures: str | None = field(default=None, repr=False)
    authorization: str | None = field(default=None, repr=False)


def prove(hook: Hook, call: Call, body: bytes, now: float) -> None:
    """Raise CallRefusedError unless the call is signed, or has a token, as the hook wants it.

    MessageIdError comes before that. ``now`` is in seconds since 1970.
    """
    if call.signatures is not None and hook.keys:
        _prove_by_signature(hook, call, body, now)
    elif hook.tokens:
        _prove_by_token(hook.tokens, call.authorization)
    else:
        raise CallRefusedError(
            "the call is not signed",
            remedy="Send webhook-id, webhook-timestamp and webhook-signature.",
        )


def message_id(call: Call) -> str | None:
    """The sender's own id of what it tells; raises MessageIdError for one that is none."""
    if call.message_id is not None and _ID.fullmatch(call.message_id) is None:
        raise MessageIdError("webhook-id is not 1 to 256 printable characters without spaces")
    return call.message_id


def _prove_by_signature(hook: Hook, call: Call, body: bytes, now: float) -> None:
    number, timestamp = message_id(call), call.timestamp or ""
    if number is None or _TIMESTAMP.fullmatch(timestamp) is None:
        raise CallRefusedError(
            "a signed call needs webhook-id, and webhook-timestamp in seconds",
        )
    signed = b"%b.%b.%b" % (number.encode(), timestamp.encode(), body)
    wanted = [hmac.digest(key, signed, hashlib.sha256) for key in hook.keys]
    if not _any_equal(wanted, _signatures(call.signatures or "")):
        raise CallRefusedError(
            "the signature is not that of this id, this time and this body",
            remedy="See that both sides have the same secret, and sign the bytes that are sent.",
        )
    off = int(timestamp) - now
    if abs(off) > hook.tolerance:
        raise CallRefusedError(
            f"the call is of {abs(off):.0f} s {'ahead' if off > 0 else 'ago'}",
            code="OUTSIDE_REPLAY_WINDOW",
            remedy="Sign each attempt anew, and see that the clocks agree.",
        )


def _signatures(header: str) -> Iterator[bytes]:
    """Those of version 1."""
    for each in header.split()[:SIGNATURES]:
        version, _, encoded = each.partition(",")
        if version == "v1":
            try:
                yield base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                continue


def _prove_by_token(tokens: Sequence[bytes], authorization: str | None) -> None:
    scheme, _, shown = (authorization or "").partition(" ")
    known = shown.strip() if scheme.lower() == "bearer" else ""
    if not _any_equal(tokens, [digest(known.encode("utf-8", "surrogateescape"))]):
        raise CallRefusedError(
            "the token is not the hook's",
            code="WRONG_TOKEN",
            remedy="Send `Authorization: Bearer TOKEN` with the token of the hook.",
        )


def _any_equal(wanted: Sequence[bytes], given: Iterable[bytes]) -> bool:
    """All pairs are compared, also when one has been found."""
    equal = [hmac.compare_digest(a, b) for b in given for a in wanted]
    return any(equal)
