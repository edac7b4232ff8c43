"""The live stream over WebSocket: who may listen, to what, and from where on."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from leitstand.access import Gate, Role, UnauthenticatedError
from leitstand.errors import LeitstandError
from leitstand.execution import validation_sentence
from leitstand.failed_attempts import TooManyFailuresError
from leitstand.live import SUBSCRIBED, TOPICS, Hub, MessageLedger, Subscriber, notice, replay
from leitstand.web.callers import address_of, caller_of, require_same_origin
from leitstand.web.problem import ProblemError

router = APIRouter()

WRONG_MESSAGE = 4400
UNAUTHENTICATED = 4401
FORBIDDEN = 4403
TOO_SLOW = 4408
TOO_MANY_FAILURES = 4429
TRY_AGAIN = 1013
"""Codes with which a connection is closed."""

FIRST_WORD = 10.0
"""Seconds that a client has to say what it wants."""

LOOK_AGAIN = 60.0
"""Seconds after which the credentials of a client are looked at again."""


def _known(topic: str) -> str:
    if topic not in TOPICS:
        raise ValueError(f"there are the topics {', '.join(sorted(TOPICS))}")
    return topic


class Subscription(BaseModel):
    """What a client sends.

    ``token`` is for those that cannot send headers. With ``acknowledge`` it is told, by a message
    with the topic ``subscribed``, from which id on it gets everything.
    """

    model_config = ConfigDict(extra="forbid")

    subscribe: list[Annotated[str, AfterValidator(_known)]] = Field(min_length=1, max_length=20)
    after: int | None = Field(default=None, ge=0, lt=2**63)
    token: str | None = None
    acknowledge: bool = False


class CloseError(Exception):
    """The connection ends, with a code and words that say why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason[:100]  # a close frame has room for 123 bytes


@router.websocket("/ws")
async def live(socket: WebSocket) -> None:
    """Send a client what it subscribes to, until one of the two ends it."""
    await socket.accept()
    try:
        await _serve(socket)
    except CloseError as error:
        await socket.close(error.code, error.reason)
    except LeitstandError as error:
        await socket.close(TRY_AGAIN, error.code)
    except WebSocketDisconnect:
        return


async def _serve(socket: WebSocket) -> None:
    try:
        async with asyncio.timeout(FIRST_WORD):
            wanted = await _heard(socket)
    except TimeoutError:
        raise CloseError(WRONG_MESSAGE, "nothing was asked for") from None
    token = wanted.token
    await _admit(socket, token)
    while True:
        wanted = await _stream(socket, wanted, token)


async def _heard(socket: WebSocket) -> Subscription:
    """What the client says next."""
    said = await socket.receive()
    if said["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(said["code"])
    try:
        return Subscription.model_validate_json(said.get("text") or "")
    except ValidationError as error:
        raise CloseError(WRONG_MESSAGE, validation_sentence(error)) from None


async def _admit(socket: WebSocket, token: str | None) -> None:
    """Raise CloseError unless the client may listen.

    A browser opens a connection for any page that asks, and sends the cookie along; so that must
    be one of ours.
    """
    gate: Gate = socket.app.state.gate
    try:
        if token is not None:
            caller = await gate.by_token(token.encode(), address_of(socket))
        else:
            caller = await caller_of(socket)
        if caller.by_cookie:
            require_same_origin(socket.headers)
    except UnauthenticatedError as error:
        raise CloseError(UNAUTHENTICATED, error.message) from None
    except TooManyFailuresError as error:
        raise CloseError(TOO_MANY_FAILURES, error.message) from None
    except ProblemError as error:
        raise CloseError(FORBIDDEN, error.detail) from None
    caller.require(Role.VIEWER)


async def _stream(socket: WebSocket, wanted: Subscription, token: str | None) -> Subscription:
    """Send what is wanted until the client wants something else, which is returned."""
    hub: Hub = socket.app.state.hub
    subscriber = Subscriber(wanted.subscribe)
    position = await hub.join(subscriber)
    try:
        return await _first_of(
            _heard(socket),
            _send(socket, subscriber, wanted, position),
            _watch(subscriber),
            _look_again(socket, token),
        )
    finally:
        hub.leave(subscriber)


async def _send(
    socket: WebSocket, subscriber: Subscriber, wanted: Subscription, position: int
) -> Subscription:
    """Send what was missed, then what comes, for ever."""
    if wanted.acknowledge:
        begin = position if wanted.after is None else min(wanted.after, position)
        await socket.send_text(
            notice(begin, SUBSCRIBED, {"topics": sorted(subscriber.topics)}).text
        )
    messages: MessageLedger = socket.app.state.messages
    async for message in replay(messages, subscriber.topics, wanted.after, position):
        await socket.send_text(message.text)
    while True:
        await socket.send_text(await subscriber.take())


async def _watch(subscriber: Subscriber) -> Subscription:
    await subscriber.was_cut_off()
    raise CloseError(TOO_SLOW, "too slow: come again, and say after which id")


async def _look_again(socket: WebSocket, token: str | None) -> Subscription:
    """End the stream of a token that was revoked, or a session that has ended."""
    while True:
        await asyncio.sleep(LOOK_AGAIN)
        await _admit(socket, token)


async def _first_of(*works: Coroutine[Any, Any, Subscription]) -> Subscription:
    """What the first to end comes to; the others are cancelled."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(done)).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
