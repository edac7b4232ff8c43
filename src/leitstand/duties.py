"""Keeps going what a control server does beside other work: a duty that fails begins again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog

log = structlog.get_logger(__name__)

CANCEL_AGAIN = 5.0
"""Seconds after which a duty that goes on although it was cancelled is cancelled once more."""

PAUSE = 5.0
"""Seconds between the failure of a duty and its new beginning."""

Duty = Callable[[], Coroutine[Any, Any, None]]
"""Works until it is cancelled. What it can expect to go wrong, it copes with itself."""


@asynccontextmanager
async def going_on(duties: Sequence[Duty], pause: float = PAUSE) -> AsyncIterator[None]:
    """Have all of them done for as long as the context lasts.

    A fault ends none of them for good: messages would lie, and results of runs stay unwritten,
    until somebody starts the server anew, and nothing would show why.
    """
    tasks = [asyncio.create_task(_again_and_again(duty, pause)) for duty in duties]
    try:
        yield
    finally:
        await _ended(tasks)


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel them until they have ended.

    A loop that goes on after failures may take a cancellation for one of them: what the tidying-up
    raises hides it. To wait for such a loop would be to wait for ever.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN)


async def _again_and_again(duty: Duty, pause: float) -> None:
    while True:
        try:
            return await duty()
        except Exception:  # whatever it is, it is not to cost more than this attempt
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                return None  # it failed because it was ended
            log.exception("a duty of the server failed; it begins again", pause=pause)
        await asyncio.sleep(pause)
