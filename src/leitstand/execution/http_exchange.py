"""One request and its answer over the network, within a deadline and a bounded number of bytes.

Imported when the first request is made: httpx takes 0.2 s to import, and every command and
worker would pay for it.
"""

import asyncio
import codecs
import os
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx

from leitstand import __version__
from leitstand.execution.http_errors import (
    HttpRedirectError,
    HttpTlsError,
    HttpUnreachableError,
)
from leitstand.execution.http_params import HttpParams
from leitstand.execution.http_secrets import Secrets, shown_url
from leitstand.logs import hush_revealing_libraries

hush_revealing_libraries()

MOST_REDIRECTS = 5

TEXT_CODECS = ("utf", "ascii", "iso8859", "cp", "koi8", "euc", "shift_jis", "gb", "big5")
"""How the names of those begin that a server may choose; some others take quadratic time."""

DEFAULT_HEADERS = {
    "User-Agent": f"leitstand/{__version__}",
    # Nothing is unpacked here: a small body could become a huge one.
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True)
class Answer:
    """What came back; ``truncated`` when the body goes on after ``body``."""

    status: int
    body: bytes
    truncated: bool
    redirects: int
    location: str | None
    charset: str | None

    @property
    def text(self) -> str:
        """The body as text; bytes that mean nothing become U+FFFD."""
        try:
            codec = codecs.lookup(self.charset or "utf-8").name
        except LookupError:
            codec = ""
        return self.body.decode(codec if codec.startswith(TEXT_CODECS) else "utf-8", "replace")


async def exchange(params: HttpParams, headers: Mapping[str, str], secrets: Secrets) -> Answer:
    """Send the request and read the answer; the deadline is the caller's.

    Neither proxies nor ``.netrc`` of the server's environment are used. Raises
    HttpUnreachableError, HttpTlsError, and HttpRedirectError for redirects that lead astray.
    """
    trust = await asyncio.to_thread(tls_context, params)
    try:
        async with httpx.AsyncClient(
            verify=trust,
            timeout=None,  # noqa: S113 -- the caller's is for all of it, httpx's for each read
            trust_env=False,
            headers=DEFAULT_HEADERS,
        ) as client:
            return await _follow(client, params, headers)
    except (httpx.TransportError, httpx.InvalidURL, httpx.DecodingError) as error:
        raise _as_told(error, params.url, secrets) from None


def tls_context(params: HttpParams) -> ssl.SSLContext:
    """Whom to trust: the system's authorities, those of ``ca_file``, or with ``verify`` off all."""
    try:
        context = ssl.create_default_context(cafile=params.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise HttpTlsError(
            f"the certificates in {params.ca_file} cannot be read: {error}",
            remedy="'ca_file' names a file with certificates in PEM form.",
        ) from None
    if not params.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _follow(
    client: httpx.AsyncClient, params: HttpParams, headers: Mapping[str, str]
) -> Answer:
    request = client.build_request(
        params.method,
        params.url,
        headers=dict(headers),
        content=params.body,
        json=params.json_body,
    )
    for redirects in range(MOST_REDIRECTS + 1):
        response = await client.send(request, stream=True)
        try:
            onward = response.next_request
            if onward is None or not params.follow_redirects:
                return await _answer(response, params.max_body, redirects)
        finally:
            await response.aclose()
        request = _onward(request, onward, headers)
    raise HttpRedirectError(f"more than {MOST_REDIRECTS} redirects")


def _onward(before: httpx.Request, after: httpx.Request, own: Mapping[str, str]) -> httpx.Request:
    """The next request of a redirect: another server gets no header of the job."""
    old, new = before.url, after.url
    if new.scheme not in ("http", "https"):
        raise HttpRedirectError(f"{shown_url(str(old))} redirects to something that is not HTTP")
    if old.scheme == "https" and new.scheme != "https":
        raise HttpRedirectError(
            f"{shown_url(str(old))} redirects to {shown_url(str(new))}, which is not encrypted"
        )
    if (old.scheme, old.host, old.port) != (new.scheme, new.host, new.port):
        for name in own:
            after.headers.pop(name, None)
    return after


async def _answer(response: httpx.Response, limit: int, redirects: int) -> Answer:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > limit:
            break
    return Answer(
        status=response.status_code,
        body=bytes(body[:limit]),
        truncated=len(body) > limit,
        redirects=redirects,
        location=response.headers.get("location"),
        charset=response.charset_encoding,
    )


def _as_told(error: Exception, url: str, secrets: Secrets) -> HttpTlsError | HttpUnreachableError:
    causes = list(_causes(error))
    reasons = [_reason(each) for each in causes if isinstance(each, OSError)]
    said = secrets.masked(next(filter(None, reversed(reasons)), str(error))) or type(error).__name__
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        return HttpTlsError(
            f"{shown_url(url)}: {said}",
            remedy="Mend the server's certificate, or name its authority with 'ca_file'. Without"
            " the package ca-certificates a system trusts nobody.",
        )
    return HttpUnreachableError(
        f"{shown_url(url)} did not answer: {said}",
        remedy="Is the server up, and reachable from every machine that runs this job?",
    )


def _reason(error: OSError) -> str | None:
    """In the system's words; asyncio's are about calls and addresses."""
    if isinstance(error, ssl.SSLError) or error.errno is None or error.errno <= 0:
        return error.strerror
    return os.strerror(error.errno)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what led to it, down to what the system said."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
        if isinstance(error, BaseExceptionGroup):  # one for each address of the name
            error = error.exceptions[0]
