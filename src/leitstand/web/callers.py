"""Decides who calls: by token, by a browser's session, or from this machine by its own name."""

import ipaddress
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from leitstand.access import Caller, Gate, Role
from leitstand.web.problem import ProblemError

COOKIE = "leitstand_session"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


async def caller_of(connection: HTTPConnection) -> Caller:
    """Who sends the request, by its token or else its cookie; raises what the gate raises."""
    gate: Gate = connection.app.state.gate
    authorization = connection.headers.get("authorization")
    session = connection.cookies.get(COOKIE)
    return await gate.caller(
        None if authorization is None else authorization.encode("latin-1"),
        None if session is None else session.encode("utf-8", "surrogateescape"),
        address_of(connection),
    )


class RoleGuard:
    """Lets a request through to an endpoint if its caller has the role, and returns the caller."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """Raise ForbiddenError, ProblemError for a request from another site, or as the gate."""
        caller = await caller_of(request)
        if caller.by_cookie and request.method not in SAFE_METHODS:
            require_same_origin(request.headers)
        caller.require(self.role)
        return caller


Viewer = Annotated[Caller, Depends(RoleGuard(Role.VIEWER))]
Operator = Annotated[Caller, Depends(RoleGuard(Role.OPERATOR))]
Admin = Annotated[Caller, Depends(RoleGuard(Role.ADMIN))]


async def may_scrape(request: Request) -> None:
    """Let a viewer have the metrics, whoever calls on this machine, or all if so configured."""
    local = is_local(request) and _without_credentials(request)
    if not (local or request.app.state.metrics_open):
        await caller_of(request)


Scraper = Annotated[None, Depends(may_scrape)]


def require_same_origin(headers: Mapping[str, str]) -> None:
    """Raise ProblemError unless a browser says that one of our own pages sends the request.

    Browsers tell by headers that no page can set. ``Sec-Fetch-Site`` is the clear word, sent only
    where the connection is safe; ``Origin`` must name the host that was asked.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin", "")
    same = site == "same-origin" if site else urlsplit(origin).netloc == headers.get("host", "-")
    if not same:
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            "CROSS_SITE",
            "a page of another site has sent this request",
            "Use Leitstand's own pages, or a token. A proxy must hand on the Host header.",
        )


def address_of(connection: HTTPConnection) -> str:
    """Where the request comes from; behind a proxy on this machine, what that says."""
    return connection.client.host if connection.client else ""


def is_local(connection: HTTPConnection) -> bool:
    """Whether the caller is on this machine and has called it by a name of its own.

    The name counts since a browser on this machine is a caller, too: a page from elsewhere can have
    its own name resolve to 127.0.0.1 (DNS rebinding) and then read whatever answers there to any
    name.
    """
    hosts = connection.headers.getlist("host")
    return _is_loopback(address_of(connection)) and names_us(
        hosts, connection.app.state.listen_host
    )


def names_us(hosts: Sequence[str], listen_host: str) -> bool:
    """Whether it is one Host header: ``localhost``, a loopback address or ``listen_host``."""
    if len(hosts) != 1:
        return False
    host = _without_port(hosts[0]).lower()
    return host == "localhost" or _is_loopback(host) or (host != "" and host == listen_host.lower())


def _without_credentials(connection: HTTPConnection) -> bool:
    return "authorization" not in connection.headers and COOKIE not in connection.cookies


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # How a socket for both families shows callers by IPv4.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
