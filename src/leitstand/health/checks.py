"""The checks of a control server: database, queue, loop, room for backups."""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from leitstand.errors import LeitstandError
from leitstand.health.readiness import AttentionError, Check

LOOP_TICKS = 3
"""Ticks without a complete pass after which the loop counts as dead."""

ROOM = 1 << 30
"""Bytes that must be free where backups go."""

STALE_LIFETIMES = 12
"""Lifetimes after which what is remembered of the feature flags counts as old."""

STALE_AT_LEAST = 60.0
"""Seconds that it may be old in any case."""


class NotReadyError(LeitstandError):
    """A check found something wrong; the message is fit for outsiders."""

    code = "NOT_READY"


def loop_alive(last_completed: Callable[[], float], tick: float) -> Check:
    """The last complete pass (monotonic seconds) is younger than three ticks."""

    async def check() -> None:
        age = time.monotonic() - last_completed()
        if age > LOOP_TICKS * tick:
            raise NotReadyError(f"the last complete pass was {age:.0f} s ago")

    return check


def flags_fresh(age: Callable[[], Awaitable[float | None]], lifetime: float) -> Check:
    """The flags were read lately (``age`` in seconds); old ones are answered, with a warning."""

    async def check() -> None:
        seconds = await age()
        if seconds is None:
            raise AttentionError("feature flags are as known from before the start, or off")
        if seconds > max(STALE_LIFETIMES * lifetime, STALE_AT_LEAST):
            raise AttentionError(f"feature flags are as known {seconds:.0f} s ago")

    return check


def room_for_backups(directory: Path, needed: int = ROOM) -> Check:
    """The file system of the backup directory has ``needed`` bytes free."""

    def free_bytes() -> int:
        existing = next(path for path in (directory, *directory.parents) if path.is_dir())
        return shutil.disk_usage(existing).free

    looking: asyncio.Task[int] | None = None

    async def check() -> None:
        nonlocal looking
        if looking is None or looking.done():
            looking = asyncio.create_task(asyncio.to_thread(free_bytes))
        # A network file system that hangs must not take a further thread with each question.
        free = await asyncio.shield(looking)
        if free < needed:
            raise NotReadyError(
                f"only {free >> 20} MiB free where the backups go, {needed >> 20} MiB wanted"
            )

    return check
