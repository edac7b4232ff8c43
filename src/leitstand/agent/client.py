"""Speaks with the control servers over HTTP: one after the other until one answers."""

import asyncio
import ssl
from typing import Self, TypeVar

import httpx
import structlog
from pydantic import BaseModel, ValidationError

from leitstand.agent.configuration import AgentConfiguration
from leitstand.agent_protocol import API, Problem
from leitstand.errors import LeitstandError, UnavailableError, UsageError
from leitstand.masking import mask_url

log = structlog.get_logger(__name__)

A = TypeVar("A", bound=BaseModel)

ANSWER_LIMIT = 32 * 1024 * 1024
"""Bytes of an answer; tasks carry parameters, and those may be long."""


KEEP_ALIVE = 2.0
"""Seconds for which an idle connection is used again: less than servers keep theirs."""


class RefusedError(LeitstandError):
    """The servers do not accept this agent's credential."""

    code = "UNAUTHENTICATED"


class ServersAwayError(UnavailableError):
    """No control server answers as it should."""

    code = "SERVERS_AWAY"


class RejectedError(LeitstandError):
    """A server understood the request and says no; ``code`` is the server's."""


class ServerClient:
    """Calls whichever server answers, and stays with it. Use it in one event loop only.

    Proxies are those of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
    """

    def __init__(self, configuration: AgentConfiguration) -> None:
        self._servers = [server.rstrip("/") for server in configuration.servers]
        headers = {
            b"X-Client-Id": configuration.client_id.encode(),
            b"X-Client-Secret": configuration.client_secret.encode(),
        }
        self._client = httpx.AsyncClient(
            headers=headers,
            verify=trusted(configuration.ca_file),
            timeout=None,  # noqa: S113 -- each call has a deadline for all of it
            limits=httpx.Limits(keepalive_expiry=KEEP_ALIVE),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.aclose()

    async def ask(self, path: str, body: BaseModel, answer: type[A], deadline: float) -> A:
        """Send a request; ``deadline`` (seconds) is for all of it, at each server.

        Raises RefusedError for the credential, RejectedError for the request, ServersAwayError
        when no server gives an answer to it.
        """
        content = await self.tell(path, body, deadline)
        try:
            return answer.model_validate_json(content)
        except ValidationError as error:
            raise ServersAwayError(
                f"{mask_url(self._servers[0])} does not answer as Leitstand"
            ) from error

    async def tell(self, path: str, body: BaseModel, deadline: float) -> bytes:
        """As ``ask``, for the answer as it came."""
        content = body.model_dump_json().encode("utf-8", "replace")
        said: list[str] = []
        for _ in range(len(self._servers)):
            try:
                async with asyncio.timeout(deadline):
                    return await self._send(self._servers[0], path, content)
            except ServersAwayError as error:
                said.append(error.message)
            except TimeoutError:
                server = mask_url(self._servers[0])
                said.append(f"{server} did not answer within {deadline:g} s")
            self._servers.append(self._servers.pop(0))
        raise ServersAwayError("; ".join(said))

    async def _send(self, server: str, path: str, content: bytes) -> bytes:
        url, headers = f"{server}{API}/{path}", {"Content-Type": "application/json"}
        try:
            async with self._client.stream("POST", url, content=content, headers=headers) as answer:
                read = await _read(answer)
        except (httpx.HTTPError, ValueError, OSError) as error:
            said = mask_url(str(error)) or type(error).__name__
            raise ServersAwayError(f"{mask_url(server)} cannot be reached: {said}") from error
        if answer.is_success:
            return read
        raise refusal(mask_url(server), answer.status_code, read)


async def _read(answer: httpx.Response) -> bytes:
    read = bytearray()
    async for piece in answer.aiter_bytes():
        read += piece
        if len(read) > ANSWER_LIMIT:
            raise ValueError("the answer is too long")
    return bytes(read)


def refusal(server: str, status: int, content: bytes) -> LeitstandError:
    """The error for an answer that is none: only Leitstand's own words count as its decision."""
    try:
        problem = Problem.model_validate_json(content)
    except ValidationError:  # a proxy's page, most likely
        return ServersAwayError(f"{server} answered with status {status}")
    said = problem.detail or problem.title
    if status == httpx.codes.UNAUTHORIZED:
        return RefusedError(f"{server} refuses this agent: {said}", remedy=problem.remedy)
    if status >= 500 or status == httpx.codes.TOO_MANY_REQUESTS:
        return ServersAwayError(f"{server}: {said}")
    return RejectedError(f"{server}: {said}", code=problem.code, remedy=problem.remedy)


def trusted(ca_file: str) -> ssl.SSLContext | bool:
    """Whom to believe: the usual authorities, or those in a file alone."""
    if not ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise UsageError(
            f"agent.ca_file: {ca_file} holds no certificates that can be read: {error}",
            code="INVALID_SETTINGS",
        ) from error
