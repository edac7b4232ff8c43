"""Has Python look for unreachable cycles seldom, where thousands of rows come that are in none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 50_000
"""Objects that are made between two looks for unreachable ones; Python looks after 700."""


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """For as long as the context lasts, in the whole process.

    The collector goes through all rows that are kept, again and again: that took a third of a
    scrub's survey, and of an evaluation of alerts.
    """
    former = gc.get_threshold()
    gc.set_threshold(SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*former)
