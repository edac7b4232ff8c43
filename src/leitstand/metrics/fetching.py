"""Fetches a module's page over HTTP: bounded in time and size, by one request, from where it may.

httpx takes 0.2 s to import: only what serves metrics may import this.
"""

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

import httpx

from leitstand import __version__
from leitstand.logs import hush_revealing_libraries
from leitstand.metrics.allowed_address import is_allowed

hush_revealing_libraries()

HEADERS = {
    "User-Agent": f"leitstand/{__version__}",
    "Accept": "text/plain;version=0.0.4",
    "Accept-Encoding": "gzip",
}

GZIP = 31
"""zlib's ``wbits`` for gzip."""

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


def make_client() -> httpx.AsyncClient:
    """A client without proxies, redirects, kept connections and timeouts of its own."""
    return httpx.AsyncClient(
        headers=HEADERS,
        verify=ssl.create_default_context(),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        timeout=None,  # noqa: S113 -- the caller's is for all of it, httpx's for each read
        trust_env=False,
        follow_redirects=False,
    )


async def fetch(client: httpx.AsyncClient, url: str, limits: FetchLimits) -> bytes:
    """The page at the URL, inflated; the deadline is the caller's. Raises FetchError."""
    parsed = httpx.URL(url)
    for address in await _addresses(parsed, limits):
        request = client.build_request(
            "GET",
            parsed.copy_with(host=address),
            headers={"Host": parsed.netloc.decode("ascii")},
            extensions={"sni_hostname": parsed.raw_host.decode("ascii")},
        )
        try:
            return await _answer(client, request, limits)
        except httpx.ConnectError:
            continue  # the name may have another address
        except (httpx.RemoteProtocolError, httpx.ReadError):
            raise FetchError(Failure.TRUNCATED) from None
        except httpx.HTTPError:
            break
    raise FetchError(Failure.CONNECT)


async def _addresses(url: httpx.URL, limits: FetchLimits) -> list[str]:
    """What the host leads to now; the connection goes to one of these and to nothing else."""
    if _is_address(url.host):
        _check([url.host], limits)
        return [url.host]
    port = url.port or (443 if url.scheme == "https" else 80)
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


async def _answer(client: httpx.AsyncClient, request: httpx.Request, limits: FetchLimits) -> bytes:
    response = await client.send(request, stream=True)
    try:
        _check_head(response)
        body = await _body(response, limits.body)
    finally:
        await response.aclose()
    if body and not body.endswith(b"\n"):
        raise FetchError(Failure.TRUNCATED)
    return body


def _check_head(response: httpx.Response) -> None:
    if 300 <= response.status_code < 400:
        raise FetchError(Failure.REDIRECT)
    if response.status_code != 200:
        raise FetchError(Failure.STATUS)
    if response.headers.get("content-encoding", "identity") not in ("gzip", "identity"):
        raise FetchError(Failure.FORMAT)
    if "openmetrics" in response.headers.get("content-type", ""):
        raise FetchError(Failure.FORMAT)  # its time stamps are in other units


async def _body(response: httpx.Response, limit: int) -> bytes:
    body, zipped = bytearray(), response.headers.get("content-encoding") == "gzip"
    inflater = zlib.decompressobj(wbits=GZIP)
    try:
        async for piece in response.aiter_raw():
            body += inflater.decompress(piece, limit + 1 - len(body)) if zipped else piece
            if len(body) > limit or inflater.unconsumed_tail:
                raise FetchError(Failure.SIZE)
    except zlib.error:
        raise FetchError(Failure.FORMAT) from None
    if zipped and not (inflater.eof and not inflater.unused_data):
        raise FetchError(Failure.TRUNCATED)
    return bytes(body)
