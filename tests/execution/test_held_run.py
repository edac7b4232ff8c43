"""Stopping a held run: the work is cancelled, the delivery of what came of it never."""

import asyncio

from leitstand.execution import Children, Ending, HaltReason, HeldRun, Lease, Result, ending_of


async def long_work() -> Result:
    await asyncio.sleep(1000)
    return Result()


async def carry_out(
    held: HeldRun, delivering: asyncio.Event, taken: asyncio.Event, delivered: list[Ending]
) -> None:
    """A run as its holders carry it out; the delivery lasts until it is ``taken``."""
    ending = await ending_of(long_work())
    held.ended()
    delivering.set()
    await taken.wait()
    delivered.append(ending)


async def test_a_second_stop_does_not_hit_the_delivery() -> None:
    held = HeldRun(Lease(1, 1), 0.0, 60.0, Children())
    delivering, taken, delivered = asyncio.Event(), asyncio.Event(), list[Ending]()
    task = asyncio.create_task(carry_out(held, delivering, taken, delivered))
    held.attach(task)
    await asyncio.sleep(0)
    held.stop(HaltReason.LEASE_LOST)
    held.stop(HaltReason.SHUTDOWN)
    await delivering.wait()
    held.stop(HaltReason.LEASE_LOST)
    taken.set()
    await task
    assert [ending.cancelled for ending in delivered] == [True]
    assert held.stop_reason is HaltReason.LEASE_LOST
