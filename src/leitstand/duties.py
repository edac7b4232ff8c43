"""Carries out duties beside other work, and says so when one of them fails: nobody awaits them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import structlog

log = structlog.get_logger(__name__)


@asynccontextmanager
async def beside(duties: Iterable[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Until the context ends; then they are cancelled, and have ended. A failure is logged."""
    tasks = [asyncio.create_task(_heard(duty)) for duty in duties]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _heard(duty: Coroutine[Any, Any, None]) -> None:
    try:
        await duty
    except Exception:
        log.exception(
            "a duty failed unexpectedly and is not done any more",
            duty=getattr(duty, "__qualname__", "?"),
        )
        raise
