"""Seals a report: a digest that shows whether it was changed, and a signature that shows by whom.

Both are over the canonical JSON of everything else: keys sorted, no white space, ASCII. The digest
is a SHA-256, the signature an HMAC-SHA-256 with a key that reader and writer share.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

DIGEST, SIGNATURE = "digest", "signature"
DIGEST_PREFIX, SIGNATURE_PREFIX = "sha256:", "hmac-sha256:"


def sealed(document: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """``document`` with its digest, and with its signature if there is a key (else None)."""
    content = canonical(document)
    return {
        **document,
        DIGEST: _digest(content),
        SIGNATURE: _signature(content, key) if key else None,
    }


def broken_seals(document: Mapping[str, Any], key: str = "") -> list[str]:
    """What is wrong with the seals of a report, as sentences; the signature only with a key."""
    content = canonical({k: v for k, v in document.items() if k not in (DIGEST, SIGNATURE)})
    found = []
    if not _equal(document.get(DIGEST), _digest(content)):
        found.append("its digest is not that of its content: it was changed")
    if key and document.get(SIGNATURE) is None:
        found.append("it is not signed")
    elif key and not _equal(document.get(SIGNATURE), _signature(content, key)):
        found.append("its signature is not by this key")
    return found


def read_sealed(content: bytes) -> dict[str, Any]:
    """The report in a file, for ``broken_seals``; raises ValueError that says why it is none.

    A name that occurs twice is refused: people and programs could each see another of its values,
    and the seals are those of the last.
    """
    try:
        document = json.loads(content, object_pairs_hook=_distinct)
        canonical(document)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("it is no report of leitstand proof --json")  # noqa: TRY004 - of content
    return document


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one form of ``document`` that is hashed."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _digest(content: bytes) -> str:
    return DIGEST_PREFIX + hashlib.sha256(content).hexdigest()


def _signature(content: bytes, key: str) -> str:
    return SIGNATURE_PREFIX + hmac.new(key.encode(), content, hashlib.sha256).hexdigest()


def _equal(found: object, expected: str) -> bool:
    if not isinstance(found, str):
        return False
    return hmac.compare_digest(found.encode("utf-8", "surrogatepass"), expected.encode())


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return document
