"""Blocking work in a thread, which ends at its next pause once nobody waits for it any more."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import TypeVar

from leitstand.errors import LeitstandError

Answer = TypeVar("Answer")

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)
_never = threading.Event()


class GivenUpError(LeitstandError):
    """Whoever wanted the work does not wait for it any more."""

    code = "GIVEN_UP"


def given_up() -> threading.Event:
    """The event that is set when the work that calls this is given up; elsewhere it never is."""
    return _given_up.get() or _never


def pause(seconds: float) -> None:
    """Sleep; GivenUpError at once when the work that calls this is given up."""
    if given_up().wait(seconds):
        raise GivenUpError("nobody waits for this any more")


async def in_thread(work: Callable[[], Answer]) -> Answer:
    """Run ``work`` in a thread. A cancellation gives it up and waits until it has cleaned up.

    That takes until its next ``pause``, since nothing else can interrupt a thread.
    """
    stop = threading.Event()
    context = copy_context()
    context.run(_given_up.set, stop)
    running = asyncio.get_running_loop().run_in_executor(None, lambda: context.run(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await _end_of(running)
        raise


async def _end_of(running: "asyncio.Future[Answer]") -> None:
    """Wait until the thread is done, however often that is cancelled."""
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([running])
    if not running.cancelled():
        running.exception()  # seen; the cancellation matters more
