"""Work in a thread: done to the end, or given up at its next pause."""

import asyncio
import threading

import pytest

from leitstand.store.interruptible import GivenUpError, given_up, in_thread, pause


async def test_work_that_somebody_waits_for_is_done() -> None:
    def work() -> bool:
        pause(0.001)
        return given_up().is_set()

    assert await in_thread(work) is False
    pause(0)  # outside of such work it only sleeps


async def test_a_cancellation_ends_it_and_waits_until_it_has_cleaned_up() -> None:
    began, told = threading.Event(), []

    def work() -> None:
        began.set()
        try:
            pause(60)
        except GivenUpError as error:
            told.append(error.code)
            raise

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(began.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["GIVEN_UP"]


async def test_a_further_cancellation_does_not_leave_the_thread_behind() -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        may_end.wait()
        ended.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(began.wait)
    for _ in range(2):
        task.cancel()
        await asyncio.wait([task], timeout=0.01)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_giving_one_up_leaves_others_alone() -> None:
    began = threading.Event()

    def work() -> str:
        began.wait()
        pause(0.01)
        return "done"

    going = asyncio.create_task(in_thread(work))
    task = asyncio.create_task(in_thread(lambda: pause(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    began.set()
    assert await going == "done"
