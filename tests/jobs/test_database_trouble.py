"""The control database restarts, turns read-only, hangs, is short of connections, is gone."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from leitstand.jobs import RunStatus
from leitstand.store.database import Database
from tests.conftest import TEMPLATE, Postgres
from tests.jobs.scene import (
    QUICK,
    Running,
    Scene,
    control_server,
    eventually,
    scene_on,
    somebody_waits,
)
from tests.stalling_proxy import stalling_proxy
from tests.store.embedded_scene import hanging

PATIENT = replace(QUICK, stale_after=20.0, heartbeat=0.2)


@pytest.fixture
async def own_scene(own_postgres: Postgres, tmp_path: Path) -> AsyncIterator[Scene]:
    """A scene on a server that the test may break."""
    own_postgres.create_database("own", TEMPLATE)
    async with Database(own_postgres.conninfo("own"), deadline=2.0) as database:
        yield scene_on(database, tmp_path / "spool")


async def test_run_survives_an_outage_shorter_than_stale(
    own_scene: Scene, own_postgres: Postgres
) -> None:
    """Case 49, first half: it goes on, and its result is written when the database is back."""
    scene = own_scene
    await scene.job(kind="gate")
    async with control_server(scene, PATIENT):
        run = await scene.let_in()
        own_postgres.stop()
        scene.gate.opened.set()
        await eventually(lambda: _inside(scene, 0))
        own_postgres.start()
        ended = await scene.ended(run)
    assert ended.status is RunStatus.SUCCEEDED


async def test_run_is_fenced_in_an_outage_longer_than_stale(
    own_scene: Scene, own_postgres: Postgres
) -> None:
    """Case 49, second half: killed by its own server, then lost, then retried once by policy."""
    scene = own_scene
    await scene.job(kind="gate", retry={"max_attempts": 2, "backoff": 0.05})
    async with control_server(scene):
        run = await scene.let_in()
        own_postgres.stop()
        began = time.monotonic()
        await eventually(lambda: _inside(scene, 0))
        assert time.monotonic() - began < QUICK.stale_after + 1
        own_postgres.start()
        ended = await scene.ended(run)
        await scene.running(run.id + 1)
    assert (ended.status, ended.error_code) == (RunStatus.FAILED, "LEASE_EXPIRED")
    assert len(await scene.queue.list_runs()) == 2


async def test_result_survives_a_read_only_database(
    own_scene: Scene, own_postgres: Postgres
) -> None:
    """Case 48: writes are refused in mid-run and at the finish; the result is not lost."""
    scene = own_scene
    await scene.job(kind="gate")
    async with control_server(scene, PATIENT):
        run = await scene.let_in()
        _set_read_only(own_postgres, True)
        scene.gate.opened.set()
        await eventually(lambda: _inside(scene, 0))
        _set_read_only(own_postgres, False)
        assert (await scene.ended(run)).status is RunStatus.SUCCEEDED


async def test_result_is_kept_on_disk_when_the_database_stays_away(
    own_scene: Scene, own_postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends without a database; the next start writes the result."""
    scene = own_scene
    monkeypatch.setattr("leitstand.jobs.loop.WRITE_DEADLINE", 0.5)
    await scene.job(kind="gate")
    async with control_server(scene, PATIENT) as running:
        run = await scene.let_in()
        own_postgres.stop()
        scene.gate.opened.set()
        await eventually(lambda: _inside(scene, 0))
        assert await running.ended() == 1
    assert len(list(scene.spool.glob("*.json"))) == 1
    own_postgres.start()
    async with control_server(scene, PATIENT):
        ended = await scene.ended(run)
    assert ended.status is RunStatus.SUCCEEDED
    assert list(scene.spool.glob("*.json")) == []


async def test_throughput_returns_after_restarts_and_cut_connections(
    own_scene: Scene, own_postgres: Postgres
) -> None:
    """Cases 45 and 50: restart under load, kill backends at random; no restart by hand."""
    scene = own_scene
    for number in range(10):
        await scene.job(f"job-{number}", every="1s")
    async with control_server(scene, replace(PATIENT, max_concurrent_runs=10)):
        await eventually(lambda: _succeeded(scene, 10))
        own_postgres.stop()
        own_postgres.start()
        await eventually(lambda: _succeeded(scene, 30))
        for _ in range(5):
            _cut_connections(own_postgres)
            await asyncio.sleep(0.2)
        before = (await scene.rows("SELECT max(id) AS id FROM runs"))[0]["id"]
        await eventually(lambda: _succeeded_since(scene, before, 30))


async def test_exhausted_pool_is_waited_for(own_scene: Scene) -> None:
    """Case 50: all connections taken for a while; passes fail, and then go on."""
    scene = own_scene
    await scene.job(every="1s")
    async with (
        Database(scene.database.conninfo, pool_size=2, deadline=1.0) as small,
        control_server(scene, PATIENT, database=small) as running,
    ):
        await eventually(lambda: _succeeded(scene, 1))
        async with small.connection(5), small.connection(5):
            await eventually(lambda: _failed_step(running))
        await eventually(lambda: _succeeded(scene, 3))


async def test_hanging_statement_costs_one_deadline(own_scene: Scene) -> None:
    """Cases 13 and 21: a lock that is held for ever makes one step fail, not the tick."""
    scene = own_scene
    await scene.job(every="1s")
    await scene.job("other", kind="gate")
    async with control_server(scene, PATIENT) as running:
        run = await scene.let_in("other")
        async with _blocked(scene, "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"):
            await eventually(lambda: _failed_step(running))
            rows = await scene.rows("SELECT now() - heartbeat_at AS age FROM servers")
            assert rows[0]["age"].total_seconds() < 3
        await eventually(lambda: _succeeded(scene, 1))
        assert (await scene.queue.get(run.id)).status is RunStatus.RUNNING


async def test_stalled_connection_is_noticed(own_scene: Scene, own_postgres: Postgres) -> None:
    """Case 46: packets stop arriving; the server notices in time and ends within its grace."""
    scene = own_scene
    await scene.job(kind="gate")
    async with (
        stalling_proxy(own_postgres.socket_dir) as proxy,
        Database(f"{scene.database.conninfo} host={proxy.directory}", deadline=1.0) as stalled,
        control_server(scene, database=stalled) as running,
    ):
        run = await scene.let_in()
        proxy.flowing.clear()
        await eventually(lambda: _inside(scene, 0))
        began = time.monotonic()
        running.stop.set()
        proxy.flowing.set()
        await running.ended()
        assert time.monotonic() - began < QUICK.shutdown_grace + 5
    assert (await scene.queue.get(run.id)).status is not RunStatus.SUCCEEDED


async def test_it_ends_in_time_while_nothing_answers(
    own_scene: Scene, own_postgres: Postgres
) -> None:
    """Cases 46 and 58: the database hangs for good; the result is kept on disk."""
    scene = own_scene
    await scene.job(kind="gate")
    settings = replace(PATIENT, shutdown_grace=1.0)
    async with control_server(scene, settings) as running:
        await scene.let_in()
        with hanging(own_postgres.cluster):
            await eventually(lambda: _failed_step(running))
            began = time.monotonic()
            assert await running.ended() == 1
            assert time.monotonic() - began < settings.shutdown_grace + 4
    assert len(list(scene.spool.glob("*.json"))) == 1


async def test_server_whose_row_is_gone_registers_anew(scene: Scene) -> None:
    """Case 52: it gives up its runs and comes back under another name."""
    await scene.job(kind="gate", retry={"max_attempts": 2, "backoff": 0.05})
    async with control_server(scene) as running:
        run = await scene.let_in()
        before = running.server.instance
        await scene.rows("DELETE FROM servers RETURNING instance")
        ended = await scene.ended(run)
        retried = await scene.running(run.id + 1)
        assert ended.error_code == "LEASE_EXPIRED"
        assert retried.owner == running.server.instance != before


async def test_blocked_heartbeat_loses_the_lease(scene: Scene) -> None:
    """Case 1: the run's row is locked past stale; the finish meets the release."""
    await scene.job(kind="gate", retry={"max_attempts": 1})
    async with control_server(scene):
        run = await scene.let_in()
        async with _blocked(scene, f"SELECT 1 FROM runs WHERE id = {run.id} FOR UPDATE"):
            await eventually(lambda: _inside(scene, 0))
        ended = await scene.ended(run)
    assert (ended.status, ended.error_code) == (RunStatus.FAILED, "LEASE_EXPIRED")
    assert len(await scene.queue.list_runs()) == 1


async def test_a_pass_that_waits_for_a_lock_does_not_hold_up_the_rescue(scene: Scene) -> None:
    """A server that was stopped while it held a group's lock made the others' rescues late."""
    await scene.job("lost", kind="gate")
    await scene.job("waits", kind="gate", group="pair")
    lost = await scene.queue.request("lost")
    await scene.queue.start("gone", 1)
    await _vouch(scene, lost.id, "+ interval '1 hour'")
    async with (
        Database(scene.database.conninfo, deadline=60) as patient,
        control_server(scene, database=patient),
    ):
        async with _blocked(scene, "SELECT 1 FROM job_groups FOR NO KEY UPDATE"):
            await scene.queue.request("waits")
            await eventually(lambda: somebody_waits(scene))
            await _vouch(scene, lost.id, "- interval '1 hour'")
            assert (await scene.ended(lost)).error_code == "LEASE_EXPIRED"
        await eventually(lambda: _inside(scene, 1))


async def test_wrong_clocks_release_nothing(scene: Scene) -> None:
    """Cases 42 and 44: a server whose clock is ten minutes off; the database's decides."""
    await scene.job(kind="gate")
    async with (
        control_server(scene, clock=lambda: time.time() + 600) as a,
        control_server(scene, name="b", clock=lambda: time.time() - 600),
    ):
        run = await scene.let_in()
        skewed = await eventually(lambda: _skewed(scene))
        assert 590 < skewed < 610
        scene.gate.opened.set()
        assert (await scene.ended(run)).status is RunStatus.SUCCEEDED
        assert a.server.passes.released == 0


@asynccontextmanager
async def _blocked(scene: Scene, statement: str) -> AsyncIterator[None]:
    """Hold the locks that ``statement`` takes.

    They are waited for in the event loop: a server in this process may have to let go of them.
    """
    async with await psycopg.AsyncConnection.connect(scene.database.conninfo) as blocker:
        await blocker.execute(statement.encode())
        yield
        await blocker.rollback()


def _set_read_only(postgres: Postgres, value: bool) -> None:
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        setting = "on" if value else "off"
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")


def _cut_connections(postgres: Postgres) -> None:
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = 'own' AND random() < 0.7"
        )


async def _inside(scene: Scene, count: int) -> bool | None:
    return scene.gate.inside == count or None


async def _succeeded(scene: Scene, count: int) -> bool | None:
    return await _succeeded_since(scene, 0, count)


async def _succeeded_since(scene: Scene, run_id: int, count: int) -> bool | None:
    query = "SELECT count(*) AS n FROM runs WHERE status = 'succeeded' AND id > %s"
    return (await scene.rows(query, run_id))[0]["n"] >= count or None


async def _vouch(scene: Scene, run_id: int, shift: str) -> None:
    await scene.rows(
        f"UPDATE runs SET heartbeat_at = now() {shift} WHERE id = {run_id} RETURNING id"
    )


async def _failed_step(running: Running) -> bool | None:
    return running.server.passes.failed_steps > 0 or None


async def _skewed(scene: Scene) -> float | None:
    rows = await scene.rows("SELECT clock_skew FROM servers WHERE clock_skew > 5")
    return rows[0]["clock_skew"] if rows else None
