"""The listener: delivers what it hears, and says so whenever it may have missed something."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psycopg
import pytest

from leitstand.store import listener as listener_module
from leitstand.store.listener import Listener
from tests.conftest import TEMPLATE, Postgres

CHANNELS = ("jobs", "Odd Name; --")


class Heard:
    """What one listener reported, and a signal for each report."""

    def __init__(self) -> None:
        self.notifications: list[tuple[str, str]] = []
        self.gaps = 0
        self._changed = asyncio.Event()

    def on_notify(self, channel: str, payload: str) -> None:
        self.notifications.append((channel, payload))
        self._changed.set()

    def on_gap(self) -> None:
        self.gaps += 1
        self._changed.set()

    async def until(self, condition: Callable[[], bool], deadline: float = 20.0) -> None:
        """Wait for a report that makes ``condition`` true."""
        async with asyncio.timeout(deadline):
            while not condition():
                await self._changed.wait()
                self._changed.clear()


@asynccontextmanager
async def listening(conninfo: str, deadline: float = 5.0) -> AsyncIterator[Heard]:
    """A running listener that has subscribed."""
    heard = Heard()
    listener = Listener(conninfo, CHANNELS, heard.on_notify, heard.on_gap, deadline)
    task = asyncio.create_task(listener.run())
    try:
        await heard.until(lambda: heard.gaps == 1)
        yield heard
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


def notify(conninfo: str, channel: str, payload: str) -> None:
    """Send one notification."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("SELECT pg_notify(%s, %s)", (channel, payload))


def listening_backend(conninfo: str) -> int:
    """The server process that the listener is connected to; the database has no other user."""
    query = """SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'leitstand'"""
    with psycopg.connect(conninfo) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


async def test_the_subscription_is_a_gap_and_then_all_is_delivered(conninfo: str) -> None:
    async with listening(conninfo) as heard:
        sent = [(channel, f"{n} ä") for n in range(3) for channel in CHANNELS]
        for channel, payload in sent:
            await asyncio.to_thread(notify, conninfo, channel, payload)
        await asyncio.to_thread(notify, conninfo, "another", "not for us")
        await heard.until(lambda: len(heard.notifications) >= len(sent))
        assert heard.notifications == sent
        assert heard.gaps == 1


async def test_a_terminated_connection_is_a_gap(conninfo: str) -> None:
    async with listening(conninfo) as heard:
        pid = listening_backend(conninfo)
        with psycopg.connect(conninfo, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        await heard.until(lambda: heard.gaps == 2)
        await asyncio.to_thread(notify, conninfo, "jobs", "after")
        await heard.until(lambda: heard.notifications == [("jobs", "after")])


async def test_a_restarted_server_is_a_gap(own_postgres: Postgres) -> None:
    conninfo = own_postgres.conninfo(TEMPLATE)
    async with listening(conninfo) as heard:
        await asyncio.to_thread(own_postgres.stop)
        await asyncio.to_thread(own_postgres.start)
        await heard.until(lambda: heard.gaps == 2)
        await asyncio.to_thread(notify, conninfo, "jobs", "after")
        await heard.until(lambda: heard.notifications == [("jobs", "after")])


async def test_a_connection_that_died_silently_is_found_out(
    conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's end is stopped: it neither sends nor closes, so only a question finds out."""
    monkeypatch.setattr(listener_module, "QUIET_LIMIT", 0.1)
    async with listening(conninfo, deadline=0.5) as heard:
        pid = listening_backend(conninfo)
        os.kill(pid, signal.SIGSTOP)
        try:
            await heard.until(lambda: heard.gaps == 2)
        finally:
            os.kill(pid, signal.SIGCONT)
        await asyncio.to_thread(notify, conninfo, "jobs", "after")
        await heard.until(lambda: ("jobs", "after") in heard.notifications)
        assert heard.notifications == [("jobs", "after")]
