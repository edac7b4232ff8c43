"""One connection to the control database: how it is opened, given up, cut off."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.rows import DictRow

from leitstand.store.interruptible import given_up

LIVENESS = {
    # A half-open connection is noticed by the kernel, not only by our own clock.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "application_name": "leitstand",
}

CANCEL_PATIENCE = 0.3
"""Seconds that a server gets to end a statement for which nobody waits any more."""


class Connection(psycopg.AsyncConnection[DictRow]):
    """A connection that a cancellation leaves at once. It must not be used after one.

    psycopg itself asks the server to cancel the statement, and waits up to 10 s for one that
    hangs: neither a check of 2 s nor the end of a process could rely on its own time.
    """

    async def cancel_safe(self, *, timeout: float = CANCEL_PATIENCE) -> None:
        """Ask the server to cancel the statement; the connection ends soon, whatever it says."""
        asyncio.get_running_loop().call_later(CANCEL_PATIENCE, shut_down, self)
        await super().cancel_safe(timeout=min(timeout, CANCEL_PATIENCE))


def connection_options(deadline: float) -> dict[str, Any]:
    """Keyword arguments for psycopg that keep any one call within about ``deadline`` seconds."""
    return {
        **LIVENESS,
        "autocommit": True,
        "connect_timeout": max(2, round(deadline)),
        "tcp_user_timeout": int(deadline * 1000),
    }


def shut_down(connection: psycopg.AsyncConnection[Any] | psycopg.Connection[Any]) -> None:
    """End the connection's socket: whoever waits for an answer on it gets an error at once."""
    with suppress(OSError, psycopg.OperationalError):  # it may be closed at this very moment
        end = socket.socket(fileno=os.dup(connection.fileno()))
        with end:
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def cut_off_after(seconds: float, connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Shut ``connection`` down after ``seconds``, or as soon as the work is given up.

    For blocking work in a thread, whose statements nothing else can interrupt.
    """
    done, stop = threading.Event(), given_up()
    until = time.monotonic() + seconds

    def watch() -> None:
        while not done.wait(0.1):
            if stop.is_set() or time.monotonic() > until:
                shut_down(connection)
                return

    watcher = threading.Thread(target=watch, name="cut-off", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()  # so that it cannot meet a later connection under the same number
