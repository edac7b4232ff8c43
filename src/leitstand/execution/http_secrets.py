"""Keeps what must stay secret of a request out of everything that is shown about it."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from leitstand.masking import HARMLESS_HEADERS, MASK, mask_url

SHORTEST_SECRET = 4
"""Characters; shorter values (``1``, ``no``) are no secrets and stand in every text."""

LOOKED_AT = 65536
"""Characters of an answer of which an excerpt is made."""


def shown_url(url: str) -> str:
    """A URL without user, password and fragment, and with the values of its query as ``***``."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    query = "&".join(_hidden(pair) for pair in parts.query.split("&")) if parts.query else ""
    return f"{parts.scheme}://{host}{port}{parts.path}" + (f"?{query}" if query else "")


def _hidden(pair: str) -> str:
    name, given, _ = pair.partition("=")
    return f"{name}={MASK}" if given else MASK


class Secrets:
    """The secrets of one request: its header values, and user, password and query of its URL."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        found = {*_of_url(url), *_of_headers(headers)}
        found = {secret for secret in found if len(secret) >= SHORTEST_SECRET}
        # The longest first, so that no rest of one stays when another is a part of it.
        ordered = sorted(found, key=len, reverse=True)
        self._longest = len(ordered[0]) if ordered else 0
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def masked(self, text: str) -> str:
        """``text``, whatever it quotes of the request, without any of its secrets."""
        return mask_url(self._own_masked(text))

    def excerpt(self, text: str, limit: int) -> str:
        """The masked beginning of a text of any length and origin, ``limit`` characters at most."""
        begin = text[:LOOKED_AT]
        masked = self._own_masked(begin)
        # What was cut off, here or before, may have left the beginning of a secret at the end.
        whole = masked[: len(masked) - self._longest] if len(text) >= LOOKED_AT else masked
        # Its patterns take quadratic time, and a foreign server chose the text.
        return mask_url(whole[: 2 * limit])[:limit].strip()

    def _own_masked(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text


def _of_url(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    yield from _spellings([password, *(value for _, value in parse_qsl(parts.query))])
    yield from (pair.partition("=")[2] or pair for pair in parts.query.split("&"))
    if user or password:
        yield base64.b64encode(f"{user}:{password}".encode()).decode()


def _of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if name.lower() not in HARMLESS_HEADERS:
            yield value
            # "Bearer abc": a server may quote the token alone.
            yield from value.split()[1:]


def _spellings(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (value, quote(value), quote(value, safe=""))
