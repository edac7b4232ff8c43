"""Consuming from a real gearmand: jobs, their order, their return, and who may consume."""

import asyncio

import psycopg
import pytest

from leitstand.downtimes import QueueSettings, Source, make_source
from leitstand.downtimes.feed import FeedError, QueueTakenError
from tests.downtimes.conftest import Scene
from tests.downtimes.core import ADD, QUEUE, START, T, body, life, message, side
from tests.downtimes.queue_servers import Gearmand
from tests.downtimes.test_rabbitmq import PATIENCE, consuming, taken, until


@pytest.fixture
def source(gearmand: Gearmand, conninfo: str) -> Source:
    return make_source(QueueSettings(gearmand.source, QUEUE), conninfo)


async def test_jobs_arrive_and_are_done_then(
    scene: Scene, source: Source, gearmand: Gearmand
) -> None:
    lives = [one for n in range(60) for one in life("cancelled", T + n, downtime_id=n)]
    await side(gearmand.source).publish([body(one) for one in lives])
    async with consuming(scene, source, 50) as consumer:
        await until(taken(consumer, len(lives)))
        await side(gearmand.source).publish([b"nonsense \0 \0", body(message(START, T))])
        await until(taken(consumer, len(lives) + 2))  # it slept, and was woken
    assert len(await scene.history()) == 60
    assert len(await scene.scheduled()) == 1
    (letter,) = await scene.dead_letters.list_all()
    assert (await scene.dead_letters.get(letter.id)).body == b"nonsense \0 \0"
    async with source.connect() as feed:
        assert await feed.depth() == 0


async def test_a_job_that_is_given_back_comes_at_the_tail(
    scene: Scene, source: Source, gearmand: Gearmand
) -> None:
    """Case 27."""
    await side(gearmand.source).publish([body(message(ADD, T - 10)), body(message(START, T))])
    async with source.connect() as feed:
        first, *_ = await feed.next_batch(1)
        assert b"1100" in first.body
    # The connection is gone, and the job is behind the other.
    async with consuming(scene, source) as consumer:
        await until(taken(consumer, 2))
    for (row,) in (await scene.scheduled(), await scene.history()):
        assert (row["was_started"], row["actual_start_time"]) == (1, T)


async def test_depth(source: Source, gearmand: Gearmand) -> None:
    await side(gearmand.source).publish([b"x"] * 5)
    async with source.connect() as feed:
        batch = await feed.next_batch(2)
        assert (len(batch), await feed.depth()) == (2, 3)


async def test_one_control_server_consumes(
    source: Source, gearmand: Gearmand, conninfo: str
) -> None:
    other = make_source(QueueSettings(gearmand.source, QUEUE), conninfo)
    async with source.connect():
        with pytest.raises(QueueTakenError):
            async with other.connect():
                pass
    async with other.connect():
        pass


async def test_a_server_that_restarts(scene: Scene, source: Source, gearmand: Gearmand) -> None:
    async with consuming(scene, source) as consumer:
        await side(gearmand.source).publish([body(message(ADD, T - 10))])
        await until(taken(consumer, 1))
        await asyncio.to_thread(gearmand.stop)
        await asyncio.to_thread(gearmand.start)
        await side(gearmand.source).publish([body(message(START, T))])
        await until(taken(consumer, 2))
    assert [row["was_started"] for row in await scene.scheduled()] == [1]


async def test_a_server_that_falls_silent(
    source: Source, gearmand: Gearmand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that drops packets closes no connection; who waited for a word waited for ever."""
    monkeypatch.setattr("leitstand.downtimes.gearman.LOOK_AFTER", 0.2)
    monkeypatch.setattr("leitstand.downtimes.gearman.ANSWER_DEADLINE", 0.5)
    async with source.connect() as feed:
        with gearmand.mute(), pytest.raises(FeedError, match="lost"):
            async with asyncio.timeout(PATIENCE):
                await feed.next_batch(10)


async def test_it_asks_again_now_and_then(
    source: Source, gearmand: Gearmand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing has happened meanwhile, all is as before."""
    monkeypatch.setattr("leitstand.downtimes.gearman.LOOK_AFTER", 0.05)
    async with source.connect() as feed:
        waiting = asyncio.create_task(feed.next_batch(10))
        done, _ = await asyncio.wait([waiting], timeout=0.5)
        assert not done
        await side(gearmand.source).publish([b"x"])
        async with asyncio.timeout(PATIENCE):
            assert [one.body for one in await waiting] == [b"x"]


async def test_a_turn_that_was_lost(
    source: Source, gearmand: Gearmand, conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control database restarts: another server has the lock now, and order would be lost."""
    monkeypatch.setattr("leitstand.downtimes.gearman.LOOK_AFTER", 0.2)
    other = make_source(QueueSettings(gearmand.source, QUEUE), conninfo)
    async with source.connect() as feed:
        waiting = asyncio.create_task(feed.next_batch(10))
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as admin:
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                " WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
            )
        with pytest.raises(FeedError, match="control database"):
            async with asyncio.timeout(PATIENCE):
                await waiting
        async with other.connect():
            pass


async def test_nobody_there_is_a_clear_error(conninfo: str) -> None:
    with pytest.raises(FeedError, match="does not answer"):
        await make_source(QueueSettings("gearman://127.0.0.1:1", QUEUE), conninfo).check()
