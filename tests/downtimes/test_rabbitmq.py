"""Consuming from a real RabbitMQ: order, acknowledgement, takeover, flags, lost connections."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import aio_pika
import pytest
from structlog.testing import capture_logs

from leitstand.downtimes import Consumer, QueueSettings, Source, make_source
from leitstand.downtimes.feed import FeedError, QueueMismatchError, QueueTakenError
from leitstand.downtimes.rabbitmq import mismatch
from tests.downtimes.conftest import Scene, execute
from tests.downtimes.core import ADD, START, RabbitSide, T, body, life, message
from tests.downtimes.queue_servers import RabbitMq

PATIENCE = 30.0


@pytest.fixture
def core(rabbitmq: RabbitMq) -> RabbitSide:
    return rabbitmq.fresh()


def source_of(core: RabbitSide, **settings: Any) -> Source:
    """The source that fits the core's side."""
    return make_source(QueueSettings(core.url, core.queue, exchange=core.exchange, **settings), "")


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a fact that no signal announces."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def consuming(scene: Scene, source: Source, batch: int = 100) -> AsyncIterator[Consumer]:
    """A consumer at work for as long as the block lasts."""
    consumer = Consumer(source, scene.intake(), batch)
    task = asyncio.create_task(consumer.run())
    try:
        yield consumer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def taken(consumer: Consumer, count: int) -> Callable[[], Awaitable[bool]]:
    """Whether so many messages have been taken in."""

    async def are_taken() -> bool:
        counts = consumer.state.counts
        return counts.applied + counts.ignored.total() + counts.rejected.total() >= count

    return are_taken


async def depth(core: RabbitSide) -> int:
    """Messages that wait, those that nobody acknowledged included once nobody consumes."""
    async with await aio_pika.connect(core.url) as connection:
        channel = await connection.channel()
        declared = await channel.declare_queue(core.queue, passive=True)
        return declared.declaration_result.message_count or 0


async def test_messages_arrive_in_order_and_the_queue_is_empty_then(
    scene: Scene, core: RabbitSide
) -> None:
    lives = [one for n in range(40) for one in life("cancelled", T + n, downtime_id=n)]
    bodies = [body(one) for one in lives]
    bodies[7:7] = [b"nonsense", json.dumps({"messages": lives[:3]}).encode()]
    await core.publish(bodies)
    async with consuming(scene, source_of(core), 17) as consumer:
        await until(taken(consumer, len(lives) + 4))
    assert await depth(core) == 0
    assert len(await scene.history()) == 40
    assert await scene.scheduled() == []
    assert [letter.reason for letter in await scene.dead_letters.list_all()] == ["not_json"]


async def test_nothing_is_acknowledged_before_the_commit(maria: Scene, core: RabbitSide) -> None:
    """Cases 2 and 24: what is away or missing stops the feed, and nothing is lost."""
    await core.publish([body(message(ADD, T - 10)), body(message(START, T))])
    await maria.target.prepare()
    rename = "ALTER TABLE {} RENAME TO {}"
    history = "statusengine_host_downtimehistory"
    await execute(maria.target, rename.format(history, "away"))
    async with consuming(maria, source_of(core)) as consumer:

        async def tried() -> bool:
            return consumer.state.retries >= 2

        await until(tried)
    assert await depth(core) == 2
    await execute(maria.target, rename.format("away", history))
    async with consuming(maria, source_of(core)) as consumer:
        await until(taken(consumer, 2))
    assert [row["was_started"] for row in await maria.history()] == [1]
    assert await depth(core) == 0


async def test_a_second_consumer_waits_and_takes_over(scene: Scene, core: RabbitSide) -> None:
    first, second = source_of(core), source_of(core)
    await core.publish([body(message(ADD, T - 10))])
    async with first.connect() as feed:
        (delivery,) = await feed.next_batch(10)
        with pytest.raises(QueueTakenError, match="another consumer"):
            async with second.connect():
                pass
        assert not delivery.again
    async with second.connect() as feed:  # unacknowledged: it comes again
        (delivery,) = await feed.next_batch(10)
        assert delivery.again
        await feed.acknowledge([delivery])
    assert await depth(core) == 0


@pytest.mark.parametrize("durable", [True, False])
async def test_flags_that_differ_are_named(core: RabbitSide, durable: bool) -> None:
    """Case 26."""
    core = replace(core, durable=durable)
    await core.publish([])
    await source_of(core, durable_queue=durable, durable_exchange=durable).check()
    other = not durable
    with pytest.raises(QueueMismatchError) as caught:
        await source_of(core, durable_queue=other, durable_exchange=durable).check()
    assert caught.value.message == (
        f"the queue {core.queue!r} exists with durable = {str(durable).lower()},"
        f" while the configuration says durable = {str(other).lower()}"
    )
    with pytest.raises(QueueMismatchError, match=f"the exchange '{core.exchange}' exists"):
        await source_of(core, durable_queue=durable, durable_exchange=other).check()


def test_other_properties_are_no_matter_of_settings() -> None:
    """Only durable is one."""
    error = mismatch(
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/':"
        " received none but current is the value '60000' of type 'signedint'"
    )
    assert error.message == (
        "the queue 'q' exists with x-message-ttl = 60000,"
        " while Leitstand and the module need x-message-ttl = none"
    )
    assert error.remedy is not None
    assert "durable" not in error.remedy


async def test_a_user_who_may_not_read_is_told_so(core: RabbitSide, rabbitmq: RabbitMq) -> None:
    """The server uses the same code as for a second consumer."""
    await core.publish([])
    source = replace(core, url=rabbitmq.reader_of_nothing())
    with pytest.raises(FeedError, match="does not let the user") as caught:
        async with source_of(source).connect():
            pass
    assert not isinstance(caught.value, QueueTakenError)


def test_a_complaint_that_is_not_understood_is_shown() -> None:
    assert mismatch("PRECONDITION_FAILED - whatever").detail == "PRECONDITION_FAILED - whatever"


async def test_a_lost_connection_is_made_anew(
    scene: Scene, core: RabbitSide, rabbitmq: RabbitMq
) -> None:
    async with consuming(scene, source_of(core)) as consumer:
        await core.publish([body(message(ADD, T - 10))])
        await until(taken(consumer, 1))
        rabbitmq.close_connections()
        await core.publish([body(message(START, T))])
        await until(taken(consumer, 2))
        assert consumer.state.retries >= 1
    assert [row["was_started"] for row in await scene.scheduled()] == [1]


async def test_a_queue_of_ones_own_gets_copies(scene: Scene, core: RabbitSide) -> None:
    """For the comparison with the Statusengine worker."""
    mine = replace(core, queue=f"own_{core.queue}")
    source = source_of(mine, routing_key=core.queue)
    await source.check()
    await core.publish([body(message(ADD, T - 10))])
    async with consuming(scene, source) as consumer:
        await until(taken(consumer, 1))
    assert await depth(core) == 1  # the worker's copy


async def test_nobody_there_is_a_clear_error() -> None:
    with pytest.raises(FeedError, match="does not answer"):
        await source_of(RabbitSide("amqp://guest:secret@127.0.0.1:1/")).check()
    assert "secret" not in source_of(RabbitSide("amqp://guest:secret@127.0.0.1:1/")).name


async def test_old_messages_are_told_of(scene: Scene, core: RabbitSide) -> None:
    """Case 28."""
    many = [body(message(ADD, T - 10, downtime_id=n)) for n in range(1500)]
    await core.publish(many)
    with capture_logs() as logs:
        await _work_off(scene, core)
    (late,) = [one for one in logs if one["event"] == "downtimes come late"]
    assert late["waiting"] > 0
    assert len(await scene.scheduled()) == 1500


async def _work_off(scene: Scene, core: RabbitSide) -> None:
    async with consuming(scene, source_of(core, batch=100), 100) as consumer:
        await until(taken(consumer, 1))
        assert consumer.state.lag > 60
        await until(taken(consumer, 1500))

        async def idle() -> bool:
            return consumer.state.idle

        await until(idle)
        assert (consumer.state.lag, consumer.state.depth) == (0, 0)


async def test_a_swallowed_cancellation_is_heeded(scene: Scene, core: RabbitSide) -> None:
    """As `asyncio.wait_for` of Python 3.11 does it: the answer and the cancellation at once."""
    source = source_of(core)
    await core.publish([body(message(ADD, T - 10))])
    consumer = Consumer(source, scene.intake())
    task = asyncio.create_task(consumer.run())
    took = scene.intake().take

    async def take(*args: Any, **kwargs: Any) -> Any:
        counts = await took(*args, **kwargs)
        with contextlib.suppress(asyncio.CancelledError):
            task.cancel()
            await asyncio.sleep(0)
        return counts

    consumer._intake.take = take  # type: ignore[method-assign]
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await depth(core) == 0


async def test_a_fault_of_ours_ends_no_feed_and_loses_nothing(
    scene: Scene, core: RabbitSide
) -> None:
    await core.publish([body(message(ADD, T - 10))])
    intake = scene.intake()
    take, faults = intake.take, iter([RuntimeError("odd")])

    async def faulty(*args: Any, **kwargs: Any) -> Any:
        for fault in faults:
            raise fault
        return await take(*args, **kwargs)

    intake.take = faulty  # type: ignore[method-assign]
    consumer = Consumer(source_of(core), intake)
    with capture_logs() as logs:
        task = asyncio.create_task(consumer.run())
        await until(taken(consumer, 1))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [one["event"] for one in logs if one["log_level"] == "error"] == ["downtimes: a fault"]
    assert len(await scene.scheduled()) == 1
    assert await depth(core) == 0
