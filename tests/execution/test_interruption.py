"""Blocking work that is asked to end, by SIGTERM or by a terminal that is closed."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from leitstand.execution.interruption import (
    Interrupted,
    cancel_when_terminated,
    interruptible,
)
from tests.execution.processes import at_default


@contextmanager
def handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """The signal is somebody else's."""
    former = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, former)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_is_interrupted_once_and_cleans_up(number: signal.Signals) -> None:
    cleaned = False
    with at_default(signal.SIGTERM), at_default(signal.SIGHUP):
        with pytest.raises(Interrupted) as raised, interruptible():
            try:
                os.kill(os.getpid(), number)
                signal.pause()
            finally:
                for each in (signal.SIGTERM, signal.SIGHUP):
                    os.kill(os.getpid(), each)
                cleaned = True
        assert signal.getsignal(number) is signal.SIG_DFL
    assert cleaned
    assert (raised.value.code, raised.value.signal) == (128 + number, number.name)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_ignores_a_signal_goes_on(number: signal.Signals) -> None:
    """As under nohup."""
    with handled(number, signal.SIG_IGN), interruptible():
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_others_handle_stays_theirs(number: signal.Signals) -> None:
    """But for the part that must not be left halfway."""
    heard: list[int] = []
    with handled(number, lambda number, _: heard.append(number)):
        with interruptible() as interruptions:
            os.kill(os.getpid(), number)
            interruptions.no_return()
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert heard == [number, number]


async def test_a_worker_is_cancelled_and_what_blocks_in_it_interrupted() -> None:
    """Its loop would hear of the signal when the work has ended."""
    task = asyncio.current_task()
    assert task is not None
    with at_default(signal.SIGTERM), at_default(signal.SIGHUP):
        cancel_when_terminated(task)
        try:
            with pytest.raises(Interrupted), interruptible():
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.Event().wait()
            task.uncancel()
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.Event().wait()
            task.uncancel()
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
