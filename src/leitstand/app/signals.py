"""Ends a server or an agent when the system asks for it."""

import asyncio
import signal

import structlog

from leitstand.execution import Children

log = structlog.get_logger(__name__)


def stop_on_signals(children: Children) -> asyncio.Event:
    """An event that the first SIGTERM or SIGINT sets; the next one kills all children at once."""
    stop = asyncio.Event()

    def stop_or_hurry() -> None:
        if not stop.is_set():
            log.info("stopping: runs are cancelled")
            stop.set()
        else:
            log.warning("asked twice: runs are killed")
            children.kill_all()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_or_hurry)
    return stop
