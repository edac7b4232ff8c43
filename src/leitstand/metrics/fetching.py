"""Fetches a module's page over HTTP: bounded in time and size, by one request, from where it may.

httpx, of which the URLs are, takes 0.2 s to import: only what serves metrics may import this.
"""

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

import httpx

from leitstand import __version__
from leitstand.metrics.allowed_address import is_allowed
from leitstand.metrics.exchange import (
    BrokenAnswerError,
    Exchange,
    NoConnectionError,
    Place,
    exchange,
)

HEADERS = (
    (b"User-Agent", f"leitstand/{__version__}".encode()),
    (b"Accept", b"text/plain;version=0.0.4"),
    (b"Accept-Encoding", b"gzip"),
    (b"Connection", b"close"),
)

PORTS = {"http": 80, "https": 443}

GZIP = 31
"""zlib's ``wbits`` for gzip."""

AT_ONCE = 1 << 16
"""Bytes that are inflated in one go."""

# Of its own: names that are not answered must not hold up what else works in threads.
_resolvers = ThreadPoolExecutor(16, "resolve")


class Failure(StrEnum):
    """Why a module could not be scraped."""

    TIMEOUT = "timeout"
    ADDRESS = "address"
    """Its name leads to where no module may be."""
    CONNECT = "connect"
    STATUS = "status"
    REDIRECT = "redirect"
    SIZE = "size"
    TRUNCATED = "truncated"
    FORMAT = "format"


class FetchError(Exception):
    """No page could be had."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


@dataclass(frozen=True)
class FetchLimits:
    """What a page may cost; ``body`` in bytes, inflated, too."""

    body: int
    private: bool


async def fetch(trust: ssl.SSLContext, url: str, limits: FetchLimits) -> bytes:
    """The page at the URL, inflated; the deadline is the caller's. Raises FetchError."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise FetchError(Failure.CONNECT) from None
    for address in await _addresses(parsed, limits):
        place = Place(
            address,
            parsed.port or PORTS[parsed.scheme],
            parsed.raw_host.decode("ascii"),
            trust if parsed.scheme == "https" else None,
        )
        try:
            async with exchange(place, _request(parsed)) as answer:
                return await _page(answer, limits.body)
        except NoConnectionError:
            continue  # the name may have another address
        except BrokenAnswerError:
            raise FetchError(Failure.TRUNCATED) from None
    raise FetchError(Failure.CONNECT)


def _request(url: httpx.URL) -> bytes:
    headers = b"".join(b"%b: %b\r\n" % each for each in ((b"Host", url.netloc), *HEADERS))
    return b"GET %b HTTP/1.1\r\n%b\r\n" % (url.raw_path, headers)


async def _addresses(url: httpx.URL, limits: FetchLimits) -> list[str]:
    """What the host leads to now; the connection goes to one of these and to nothing else."""
    if _is_address(url.host):
        _check([url.host], limits)
        return [url.host]
    port = url.port or PORTS[url.scheme]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.run_in_executor(
            _resolvers, lambda: socket.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        )
    except (OSError, UnicodeError):
        raise FetchError(Failure.CONNECT) from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    _check(addresses, limits)
    return addresses


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check(addresses: Iterable[str], limits: FetchLimits) -> None:
    if not all(is_allowed(each, private=limits.private) for each in addresses):
        raise FetchError(Failure.ADDRESS)


async def _page(answer: Exchange, limit: int) -> bytes:
    _check_head(await answer.status(), answer.headers)
    body = await _body(answer, limit)
    if body and not body.endswith(b"\n"):
        raise FetchError(Failure.TRUNCATED)
    return body


def _check_head(status: int, headers: Mapping[str, str]) -> None:
    if 300 <= status < 400:
        raise FetchError(Failure.REDIRECT)
    if status != 200:
        raise FetchError(Failure.STATUS)
    if headers.get("content-encoding", "identity") not in ("gzip", "identity"):
        raise FetchError(Failure.FORMAT)
    if "openmetrics" in headers.get("content-type", ""):
        raise FetchError(Failure.FORMAT)  # its time stamps are in other units


async def _body(answer: Exchange, limit: int) -> bytes:
    body, zipped = bytearray(), answer.headers.get("content-encoding") == "gzip"
    inflater = zlib.decompressobj(wbits=GZIP)
    try:
        async for piece in answer.body():
            for part in _inflated(inflater, piece) if zipped else (piece,):
                body += part
                if len(body) > limit:
                    raise FetchError(Failure.SIZE)
    except zlib.error:
        raise FetchError(Failure.FORMAT) from None
    if zipped and not (inflater.eof and not inflater.unused_data):
        raise FetchError(Failure.TRUNCATED)
    return bytes(body)


def _inflated(inflater: "zlib._Decompress", piece: bytes) -> Iterator[bytes]:
    """What a piece inflates to, little by little: some kilobytes may become megabytes."""
    part = inflater.decompress(piece, AT_ONCE)
    yield part
    while len(part) == AT_ONCE or inflater.unconsumed_tail:
        part = inflater.decompress(inflater.unconsumed_tail, AT_ONCE)
        yield part
