"""Reading ahead: same items, errors in their place, and no thread is left behind."""

import threading
from collections.abc import Generator, Iterator

import pytest

from leitstand.archive.postgres.read_ahead import ReadAhead


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "read-ahead"]


def test_items_keep_their_order() -> None:
    with ReadAhead(iter(range(1000)), depth=2) as items:
        assert list(items) == list(range(1000))
    assert threads() == []


def test_an_error_comes_after_the_items_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise RuntimeError("the disk is gone")

    seen = []
    with pytest.raises(RuntimeError, match="the disk is gone"), ReadAhead(source()) as items:
        for item in items:
            seen.append(item)
    assert seen == [1]
    assert threads() == []


def test_leaving_early_stops_an_endless_source() -> None:
    ended = threading.Event()

    def source() -> Generator[int, None, None]:
        try:
            while True:
                yield 0
        finally:
            ended.set()

    endless = source()
    with ReadAhead(endless) as items:
        assert next(items) == 0
    assert threads() == []
    endless.close()
    assert ended.is_set()
