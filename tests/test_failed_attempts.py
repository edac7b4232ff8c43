"""The counter of failed attempts: a window for each source, bounded memory."""

import pytest

from leitstand.failed_attempts import (
    LIMIT,
    SOURCES,
    WINDOW,
    FailedAttempts,
    TooManyFailuresError,
)


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_source_waits_until_its_window_ends() -> None:
    clock = Clock()
    attempts = FailedAttempts(clock=clock)
    for _ in range(LIMIT):
        attempts.check("a")
        attempts.add("a")
    attempts.check("b")
    clock.now = WINDOW / 2 + 0.5
    with pytest.raises(TooManyFailuresError) as caught:
        attempts.check("a")
    assert caught.value.retry_after == 30
    clock.now = WINDOW
    attempts.check("a")


def test_sources_are_remembered_in_bounded_memory() -> None:
    attempts = FailedAttempts(1, lambda: 0.0)
    for source in range(SOURCES + 10):
        attempts.add(source)
    assert len(attempts) == SOURCES
    assert attempts.wait(9) == 0, "the first ones have given way to others"
    assert attempts.wait(10) == WINDOW
