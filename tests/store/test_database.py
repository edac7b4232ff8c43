"""The pool: every call ends within its deadline, and no broken connection is handed out again."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import psycopg
import pytest

from leitstand.store import connection
from leitstand.store.database import Database, DatabaseUnavailableError
from tests.conftest import TEMPLATE, Postgres
from tests.store.embedded_scene import hanging


@pytest.fixture
async def single(conninfo: str) -> AsyncIterator[Database]:
    """A pool of one connection, so that the next use meets what the last one left."""
    async with Database(conninfo, pool_size=1, deadline=2.0) as database:
        yield database


async def backend_pid(database: Database) -> int:
    """The server process behind the next connection."""
    async with database.connection() as connection:
        return connection.info.backend_pid


async def timeout_setting(database: Database) -> str:
    """The statement_timeout that the next user finds."""
    async with database.connection() as connection:
        row = await (await connection.execute("SHOW statement_timeout")).fetchone()
        assert row is not None
        return str(row["statement_timeout"])


async def test_rows_are_dictionaries_and_statements_commit(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE t (n int)")
        await connection.execute("INSERT INTO t VALUES (1)")
    async with database.connection() as connection:
        assert await (await connection.execute("SELECT n FROM t")).fetchall() == [{"n": 1}]


async def test_a_failed_transaction_leaves_nothing_and_a_sound_connection(single: Database) -> None:
    before = await backend_pid(single)
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with single.transaction() as connection:
            await connection.execute("CREATE TABLE t (n int)")
            await connection.execute("SELECT 1 / 0")
    async with single.connection() as connection:
        row = await (await connection.execute("SELECT to_regclass('t') AS t")).fetchone()
        assert row == {"t": None}
    assert await backend_pid(single) == before


async def test_who_is_cancelled_while_a_connection_comes_is_cancelled(single: Database) -> None:
    """Whichever step of the handing over it meets; a duty or a run would have gone on for ever."""

    async def work() -> None:
        async with single.connection():
            await asyncio.Event().wait()

    for steps in range(30):
        async with asyncio.timeout(5):
            async with single.connection():
                waits = asyncio.create_task(work())
                await asyncio.sleep(0.01)  # until it has come to wait; else it is cancelled sooner
            for _ in range(steps):
                await asyncio.sleep(0)
            waits.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waits
    assert await timeout_setting(single) == "2s"


async def test_a_slow_statement_ends_at_the_deadline(single: Database) -> None:
    started = time.monotonic()
    with pytest.raises(DatabaseUnavailableError):
        async with single.connection(0.2) as connection:
            await connection.execute("SELECT pg_sleep(60)")
    assert time.monotonic() - started < 1.5
    assert await timeout_setting(single) == "2s"


async def test_many_quick_statements_share_one_deadline(single: Database) -> None:
    """Each is within statement_timeout; all together are not."""
    with pytest.raises(DatabaseUnavailableError):
        async with single.connection(0.3) as connection:
            while True:
                await connection.execute("SELECT pg_sleep(0.02)")
    await backend_pid(single)


async def test_a_deadline_of_ones_own_ends_with_its_use(single: Database) -> None:
    async with single.connection(1.0) as connection:
        row = await (await connection.execute("SHOW statement_timeout")).fetchone()
        assert row == {"statement_timeout": "1s"}
    assert await timeout_setting(single) == "2s"


async def test_also_after_a_statement_that_failed(single: Database) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with single.connection(1.0) as connection:
            await connection.execute("SELECT 1 / 0")
    assert await timeout_setting(single) == "2s"


async def test_a_frozen_server_costs_no_more_than_the_deadline(own_postgres: Postgres) -> None:
    """Stopped, it neither answers nor closes the connection, like a machine that hangs."""
    async with Database(own_postgres.conninfo(TEMPLATE), pool_size=1, deadline=0.5) as database:
        backend, postmaster = await backend_pid(database), own_postgres.cluster.running_pid()
        assert postmaster is not None
        for pid in (backend, postmaster):
            os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(2):
                started = time.monotonic()
                with pytest.raises(DatabaseUnavailableError):
                    await backend_pid_by_statement(database)
                assert time.monotonic() - started < 2.0
        finally:
            for pid in (postmaster, backend):
                os.kill(pid, signal.SIGCONT)
        await answers_again(database)


async def test_a_cancelled_use_of_a_frozen_server_ends_at_once(own_postgres: Postgres) -> None:
    """psycopg alone would wait 10 s for the server to confirm the cancellation."""
    async with Database(own_postgres.conninfo(TEMPLATE), pool_size=1) as database:
        await backend_pid(database)
        with hanging(own_postgres.cluster):
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await backend_pid_by_statement(database)
            assert time.monotonic() - started < 2.0
        await answers_again(database)


async def backend_pid_by_statement(database: Database) -> None:
    """Ask the server something, not only the pool."""
    async with database.connection() as connection:
        await connection.execute("SELECT pg_backend_pid()")


async def answers_again(database: Database, deadline: float = 20.0) -> None:
    """Wait until a statement succeeds; the failures before are the expected ones."""
    async with asyncio.timeout(deadline):
        while True:
            try:
                return await backend_pid_by_statement(database)
            except DatabaseUnavailableError:
                await asyncio.sleep(0.02)


async def test_a_primary_that_became_read_only_is_not_kept(single: Database) -> None:
    """SQLSTATE 25006: after a failover the old connection would stay useless for ever."""
    before = await backend_pid(single)
    with pytest.raises(DatabaseUnavailableError, match="read-only"):
        async with single.connection() as connection:
            await connection.execute("SET default_transaction_read_only = on")
            await connection.execute("CREATE TABLE t (n int)")
    async with single.connection() as connection:
        await connection.execute("CREATE TABLE t (n int)")
        assert connection.info.backend_pid != before


async def test_an_exhausted_pool_is_unavailable_and_recovers(single: Database) -> None:
    async with single.connection():
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailableError, match=r"0\.2 s"):
            async with single.connection(0.2):
                pass
        assert time.monotonic() - started < 1.5
    await backend_pid(single)


async def test_a_cancelled_use_does_not_hand_its_statement_on(single: Database) -> None:
    reached = asyncio.Event()

    async def use() -> None:
        async with single.connection() as connection:
            reached.set()
            await connection.execute("SELECT pg_sleep(60)")

    task = asyncio.create_task(use())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await backend_pid_by_statement(single)


async def test_whoever_is_cancelled_at_any_moment_leaves_a_sound_connection(
    single: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the server is told the deadline: what is given up is cut off a moment later."""
    monkeypatch.setattr(connection, "CANCEL_PATIENCE", 0.03)

    async def use() -> None:
        async with single.connection(60.0) as connection:
            await connection.execute("SELECT 1")

    for steps in range(40):
        task = asyncio.create_task(use())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        until = time.monotonic() + 0.06
        while time.monotonic() < until:
            await single.round_trip()
        assert await timeout_setting(single) == "2s"


async def test_a_terminated_backend_costs_one_call(single: Database, conninfo: str) -> None:
    pid = await backend_pid(single)
    with psycopg.connect(conninfo, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with pytest.raises(DatabaseUnavailableError):
        await backend_pid_by_statement(single)
    await backend_pid_by_statement(single)


async def test_a_restart_costs_one_call_however_many_connections(own_postgres: Postgres) -> None:
    async with Database(own_postgres.conninfo(TEMPLATE), pool_size=4) as database:
        gate = asyncio.Barrier(4)

        async def use() -> None:
            async with database.connection() as connection:
                await connection.execute("SELECT 1")
                await gate.wait()

        await asyncio.gather(*(use() for _ in range(4)))
        await asyncio.to_thread(own_postgres.stop)
        with pytest.raises(DatabaseUnavailableError):
            await backend_pid_by_statement(database)
        await asyncio.to_thread(own_postgres.start)
        await answers_again(database)
        await asyncio.gather(*(use() for _ in range(4)))


async def test_a_server_that_is_not_there_yet_may_come_later() -> None:
    async with Database("host=/nonexistent user=nobody", deadline=0.2) as database:
        with pytest.raises(DatabaseUnavailableError):
            await backend_pid(database)


async def test_a_transaction_that_nobody_goes_on_with_lets_go_of_its_locks(conninfo: str) -> None:
    """As of a process that is stopped in the middle; here, one whose event loop is blocked."""
    async with Database(conninfo, deadline=0.5) as database:
        with pytest.raises(DatabaseUnavailableError):
            async with database.transaction() as connection:
                await connection.execute("LOCK TABLE jobs")
                with psycopg.connect(conninfo) as other:  # not awaited: it blocks the loop
                    other.execute("SET lock_timeout = '10s'")
                    other.execute("LOCK TABLE jobs")
                await connection.execute("SELECT 1")
