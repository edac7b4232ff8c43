"""Decides who may see the pages that ask for no credentials: callers on this machine, by its name.

The name counts since a browser on this machine is a caller, too: a page from elsewhere can have its
own name resolve to 127.0.0.1 (DNS rebinding) and then read whatever answers there to any name.
"""

import ipaddress
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request

from leitstand.web.problem import ProblemError

OUR_NAME = "Open it as http://localhost:PORT/ on this machine, or so through an SSH tunnel."


def local_only(request: Request) -> None:
    """Raise ProblemError for a caller from elsewhere, or one that was sent here under a false name.

    The host of ``server.listen`` is a right name, if it is one (``app.state.listen_host``).
    """
    if not _is_loopback(request.client.host if request.client else ""):
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            "CALLER_NOT_LOCAL",
            "this page is shown to callers on this machine only",
            OUR_NAME,
        )
    if not names_us(request.headers.getlist("host"), request.app.state.listen_host):
        raise ProblemError(
            HTTPStatus.MISDIRECTED_REQUEST,
            "HOST_NOT_OURS",
            "the request's Host header does not name this machine's own address",
            OUR_NAME,
        )


Local = Annotated[None, Depends(local_only)]


def names_us(hosts: Sequence[str], listen_host: str) -> bool:
    """Whether it is one Host header: ``localhost``, a loopback address or ``listen_host``."""
    if len(hosts) != 1:
        return False
    host = _without_port(hosts[0]).lower()
    return host == "localhost" or _is_loopback(host) or (host != "" and host == listen_host.lower())


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
