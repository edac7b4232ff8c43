"""The API for remote agents: they show a credential of a module, where others show a token."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ValidationError

from leitstand.agent_protocol import (
    API,
    BODY_LIMIT,
    Delivery,
    Goodbye,
    Hello,
    Orders,
    Poll,
    Reports,
    Vouch,
)
from leitstand.errors import UsageError
from leitstand.execution import validation_sentence
from leitstand.jobs import AgentDesk
from leitstand.modules import CredentialLedger
from leitstand.web.module_guards import credential_guard

B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")


class BodyTooLargeError(UsageError):
    """A request that is larger than any that makes sense."""

    code = "BODY_TOO_LARGE"


def agent_api(desk: AgentDesk, credentials: CredentialLedger) -> APIRouter:
    """The paths below ``API``; each asks for a module's credential before it reads the body."""

    caller = Annotated[str, Depends(credential_guard(credentials))]
    router = APIRouter(prefix=API)

    @router.post("/hello")
    async def hello(module: caller, request: Request) -> Response:
        return answer(await desk.hello(module, await read(request, Hello)))

    @router.post("/tasks")
    async def tasks(module: caller, request: Request) -> Response:
        polling = desk.poll(module, await read(request, Poll))
        return answer(await unless_gone(request, polling) or Orders())

    @router.post("/heartbeat")
    async def heartbeat(module: caller, request: Request) -> Response:
        return answer(await desk.beat(module, await read(request, Vouch)))

    @router.post("/reports")
    async def reports(module: caller, request: Request) -> Response:
        return answer(await desk.report(module, await read(request, Reports)))

    @router.post("/result")
    async def result(module: caller, request: Request) -> Response:
        return answer(await desk.result(module, await read(request, Delivery)))

    @router.post("/goodbye")
    async def goodbye(module: caller, request: Request) -> Response:
        await desk.goodbye(module, await read(request, Goodbye))
        return Response(status_code=204)

    return router


def answer(body: BaseModel) -> Response:
    """The body as JSON."""
    return Response(body.model_dump_json(), media_type="application/json")


async def read(request: Request, model: type[B]) -> B:
    """The request's body; UsageError when it is too large or not what it should be."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > BODY_LIMIT:
            raise BodyTooLargeError(f"a request has at most {BODY_LIMIT} bytes")
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise UsageError(f"the request cannot be read: {validation_sentence(error)}") from None


async def unless_gone(request: Request, work: Awaitable[T]) -> T | None:
    """What ``work`` comes to; None, and it is cancelled, when the caller goes away before.

    The body must have been read: what comes after it is the end of the connection alone.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        gone.cancel()
        task.cancel()


async def _disconnected(receive: Callable[[], Awaitable[object]]) -> None:
    while True:
        match await receive():
            case {"type": "http.disconnect"}:
                return
