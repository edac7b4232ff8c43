"""Several control servers on one database, killed, stopped and cut off."""

import asyncio
import random
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from leitstand.jobs import RunStatus
from tests.jobs.scene import QUICK, Scene, control_server, eventually
from tests.jobs.server_processes import ServerProcess, Servers, servers_on

MANY = replace(QUICK, max_concurrent_runs=20)


async def test_one_run_for_each_slot_on_five_servers(scene: Scene, tmp_path: Path) -> None:
    """Cases 6, 8 and 13: 200 jobs due in the same second, over and over."""
    for number in range(200):
        await scene.job(f"job-{number}", every="1s")
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        for _ in range(5):
            await servers.start(MANY)
        await eventually(lambda: _succeeded(scene, 1000), patience=60)
        for server in servers.started:
            assert await server.stopped() == 0
            assert "Traceback" not in server.log.read_text()
    assert await _doubles(scene) == []
    assert await scene.rows("SELECT id FROM runs WHERE status IN ('running', 'failed')") == []


async def test_random_kills_lose_and_double_nothing(scene: Scene, tmp_path: Path) -> None:
    """Three servers, 200 due jobs, 100 rounds of kill -9 at random."""
    for number in range(200):
        retry = {"max_attempts": 2, "backoff": 0.1}
        await scene.job(f"job-{number}", kind="nap", every="1s", retry=retry)
    chance = random.Random(2)
    async with scene.database.connection() as connection:
        await connection.execute("CREATE TABLE seen (id bigint PRIMARY KEY, was text)")
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        alive = [await servers.start(MANY) for _ in range(3)]
        pace = await _pace(scene)
        for number in range(100):
            await _kill_one(servers, alive, chance.random() * pace)
            if number % 10 == 9:
                await _remember_final_runs(scene)
        await asyncio.gather(*(server.registered() for server in alive))
        await eventually(lambda: _nothing_of_the_dead(scene, alive), patience=30)
        await eventually(lambda: _succeeded(scene, 200), patience=60)
        for server in alive:
            await server.stopped()
    await _remember_final_runs(scene)
    assert await _doubles(scene) == []
    assert await scene.rows("SELECT id FROM runs WHERE status = 'running'") == []
    lost = await scene.rows("SELECT error_code FROM runs WHERE status = 'failed'")
    assert {row["error_code"] for row in lost} == {"LEASE_EXPIRED"}


async def test_killed_server_takes_its_child_with_it_and_is_rescued_once(
    scene: Scene, tmp_path: Path
) -> None:
    """Cases 11, 16 and 62: no overlap of the children, one rescue, one retry."""
    log = tmp_path / "log"
    command = f"echo start $$ >> {log}; sleep 1000 & wait"
    retry = {"max_attempts": 2, "backoff": 0.05}
    await scene.job(kind="command", params={"shell": command}, group="one", retry=retry)
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        first = await (await servers.start()).registered()
        run = await scene.running(await scene.queue.request("job"))
        await eventually(lambda: _lines(log, 1))
        for _ in range(4):
            await (await servers.start()).registered()
        assert run.owner == first.instance
        await first.killed()
        ended = await scene.ended(run)
        await eventually(lambda: _lines(log, 2))
        assert not _is_alive(int(log.read_text().split()[1]))
        rescuers = [s for s in servers.started if "released runs" in s.log.read_text()]
        assert len(rescuers) == 1
        for server in servers.started[1:]:
            await server.stopped()
    assert (ended.status, ended.error_code) == (RunStatus.FAILED, "LEASE_EXPIRED")
    assert ended.failure_class == "transient"
    runs = await scene.queue.list_runs()
    assert [r.attempt for r in runs] == [2, 1]


async def test_cancel_of_a_run_whose_server_is_dead(scene: Scene, tmp_path: Path) -> None:
    """Case 54: accepted at once; it ends as cancelled when the lease is released."""
    await scene.job(kind="command", params={"argv": ["sleep", "1000"]})
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        server = await (await servers.start()).registered()
        run = await scene.running(await scene.queue.request("job"))
        await server.killed()
        assert (await scene.queue.cancel(run.id)).cancel_requested_at is not None
        await servers.start()
        ended = await scene.ended(run)
    assert (ended.status, ended.error_code) == (RunStatus.CANCELLED, "CANCELLED")
    assert "lost" in (ended.error_message or "")


async def test_stopped_server_fences_itself(scene: Scene, tmp_path: Path) -> None:
    """Cases 1, 3, 27 and 49: SIGSTOP past the stale timeout; its child is dead before others start,
    and what it writes afterwards changes nothing."""
    log = tmp_path / "log"
    await scene.job(
        kind="command",
        params={"shell": f"echo start $$ >> {log}; exec sleep 1000"},
        retry={"max_attempts": 2, "backoff": 0.05},
    )
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        first = await (await servers.start()).registered()
        run = await scene.running(await scene.queue.request("job"))
        await eventually(lambda: _lines(log, 1))
        first.signal(signal.SIGSTOP)
        second = await (await servers.start()).registered()
        released = await scene.ended(run)
        assert not _is_alive(int(log.read_text().split()[1]))
        await eventually(lambda: _lines(log, 2))
        first.signal(signal.SIGCONT)
        await eventually(lambda: _logged(first, "lost lease"))
        retried = await scene.running(run.id + 1)
        assert retried.owner == second.instance
        assert await scene.queue.get(run.id) == released
        assert len(await scene.queue.late_results(run.id)) <= 1
        await first.stopped()
        assert (await scene.queue.get(retried.id)).status is RunStatus.RUNNING
        await second.stopped()
    assert len(log.read_text().splitlines()) == 2


async def test_servers_in_one_house_leave_each_others_runs_alone(scene: Scene) -> None:
    """Case 55: B starts and stops while A runs ten jobs."""
    for number in range(10):
        await scene.job(f"job-{number}", kind="gate")
        await scene.queue.request(f"job-{number}")
    async with control_server(scene, replace(QUICK, max_concurrent_runs=10)) as a:
        await eventually(lambda: _inside(scene, 10))
        async with control_server(scene, name="b") as b:
            assert await b.ended() == 0
        assert scene.gate.inside == 10
        scene.gate.opened.set()
        await eventually(lambda: _succeeded(scene, 10))
        owners = {run.owner for run in await scene.queue.list_runs()}
        assert owners == {a.server.instance}


async def test_group_limit_over_servers_is_freed_by_rescue(scene: Scene, tmp_path: Path) -> None:
    """Case 62: never two in a group of one, though its holder is killed again and again."""
    log = tmp_path / "log"
    for number in range(3):
        await scene.job(
            f"job-{number}",
            kind="command",
            params={"shell": f"echo + >> {log}; sleep 0.3; echo - >> {log}"},
            group="one",
            every="1s",
            retry={"max_attempts": 1},
        )
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        for _ in range(4):
            victim = await (await servers.start()).registered()
            other = await (await servers.start()).registered()
            seen = await scene.rows("SELECT count(*) AS n FROM runs WHERE status = 'succeeded'")
            await eventually(partial(_succeeded, scene, seen[0]["n"] + 2))
            await victim.killed()
            await other.killed()
    assert await _most_at_once(scene) == 1


async def test_forbidding_job_recovers_from_every_kill(scene: Scene, tmp_path: Path) -> None:
    """Case 53: kill -9 during a run of an exclusive job; the next slot runs after the rescue."""
    await scene.job(
        kind="command", params={"argv": ["sleep", "1000"]}, every="0.3s", retry={"max_attempts": 1}
    )
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        for _ in range(8):
            server = await (await servers.start()).registered()
            runs = await eventually(partial(_running_on, scene, server))
            await server.killed()
            assert len(runs) == 1
    assert await _doubles(scene) == []


async def test_loop_blocked_past_stale_keeps_its_runs(scene: Scene, tmp_path: Path) -> None:
    """Cases 4 and 7: a run three times as long as the stale limit, its loop blocked meanwhile."""
    await scene.job(kind="gate")
    async with control_server(scene) as a:
        run = await scene.running(await scene.queue.request("job"))
        async with servers_on(scene.database.conninfo, tmp_path) as servers:
            other = await (await servers.start()).registered()
            await asyncio.to_thread(_block, asyncio.get_running_loop(), 3 * QUICK.stale_after)
            await other.stopped()
        assert (await scene.queue.get(run.id)).owner == a.server.instance
        scene.gate.opened.set()
        assert (await scene.ended(run)).status is RunStatus.SUCCEEDED


def _block(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    blocked = asyncio.run_coroutine_threadsafe(_sleep_in_the_loop(seconds), loop)
    blocked.result()


async def _sleep_in_the_loop(seconds: float) -> None:
    time.sleep(seconds)  # blocking the loop is the test


async def _pace(scene: Scene) -> float:
    """Seconds in which this machine gets work done, so that kills meet servers at work."""
    began = time.monotonic()
    await eventually(lambda: _succeeded(scene, 1), patience=60)
    return min(max(0.3, time.monotonic() - began), 1.0)


async def _kill_one(servers: Servers, alive: list[ServerProcess], delay: float) -> None:
    """Kill the longest serving one after ``delay`` seconds, and start another in its place."""
    victim = await alive.pop(0).registered()
    await asyncio.sleep(delay)
    await victim.killed()
    alive.append(await servers.start(MANY))


async def _remember_final_runs(scene: Scene) -> None:
    """Note all final runs as they are, and assert that those noted before have not changed."""
    changed = await scene.rows(
        "SELECT id FROM seen INNER JOIN runs USING (id) WHERE seen.was <> md5(runs::text)"
    )
    assert changed == []
    await scene.rows(
        "INSERT INTO seen SELECT id, md5(runs::text) FROM runs WHERE finished_at IS NOT NULL"
        " ON CONFLICT DO NOTHING RETURNING id"
    )


async def _doubles(scene: Scene) -> list[dict[str, object]]:
    return await scene.rows(
        "SELECT job, scheduled_at, count(*) FROM runs WHERE attempt = 1"
        " GROUP BY job, scheduled_at HAVING count(*) > 1"
    )


async def _most_at_once(scene: Scene) -> int:
    rows = await scene.rows(
        "SELECT max((SELECT count(*) FROM runs AS b WHERE b.started_at <= a.started_at"
        " AND coalesce(b.finished_at, 'infinity') > a.started_at)) AS n FROM runs AS a"
    )
    most: int = rows[0]["n"]
    return most


async def _succeeded(scene: Scene, count: int) -> bool | None:
    rows = await scene.rows("SELECT count(*) AS n FROM runs WHERE status = 'succeeded'")
    return rows[0]["n"] >= count or None


async def _inside(scene: Scene, count: int) -> bool | None:
    return scene.gate.inside == count or None


async def _running_on(scene: Scene, server: ServerProcess) -> list[dict[str, object]] | None:
    query = "SELECT id FROM runs WHERE status = 'running' AND owner = %s"
    return await scene.rows(query, server.instance) or None


async def _nothing_of_the_dead(scene: Scene, alive: list[ServerProcess]) -> bool | None:
    owners = [server.instance for server in alive]
    query = "SELECT id FROM runs WHERE status = 'running' AND owner <> ALL(%s)"
    return not await scene.rows(query, owners) or None


async def _lines(log: Path, count: int) -> bool | None:
    return (log.exists() and len(log.read_text().splitlines()) >= count) or None


async def _logged(server: ServerProcess, words: str) -> bool | None:
    return words in server.log.read_text() or None


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
