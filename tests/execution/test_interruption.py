"""Blocking work that is asked to end, by SIGTERM or by a terminal that is closed."""

import os
import signal

import pytest

from leitstand.execution.interruption import Interrupted, interruptible
from tests.execution.processes import at_default


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_is_interrupted_once_and_cleans_up(number: signal.Signals) -> None:
    cleaned = False
    with at_default(signal.SIGTERM), at_default(signal.SIGHUP):
        with pytest.raises(Interrupted), interruptible():
            try:
                os.kill(os.getpid(), number)
                signal.pause()
            finally:
                for each in (signal.SIGTERM, signal.SIGHUP):
                    os.kill(os.getpid(), each)
                cleaned = True
        assert signal.getsignal(number) is signal.SIG_DFL
    assert cleaned


def test_who_ignores_a_hangup_goes_on() -> None:
    """As under nohup."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, former)
