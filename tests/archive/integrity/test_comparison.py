"""Comparing and pairing ordered listings."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leitstand.archive.integrity.comparison import Comparison, KeyOrderError
from leitstand.archive.integrity.pairing import paired
from leitstand.archive.integrity.revision import Revision, RevisionPage

KEYS = st.sets(st.binary(max_size=3), max_size=300)
SIZES = st.integers(1, 50)


def cut(keys: list[bytes], size: int) -> list[list[bytes]]:
    return [keys[i : i + size] for i in range(0, len(keys), size)]


async def pages(keys: list[bytes], size: int) -> AsyncIterator[RevisionPage]:
    for part in cut(keys, size):
        yield RevisionPage(part, [Revision(key, 1, 2) for key in part])


async def listing(keys: list[bytes], size: int) -> AsyncIterator[list[bytes]]:
    for part in cut(keys, size):
        yield part


async def compared(
    left: list[bytes], right: list[bytes], left_size: int, right_size: int
) -> tuple[list[bytes], list[bytes], int]:
    """What is in one only, and how many keys were seen on the left."""
    compare, only_left, only_right, seen = Comparison("left", "right"), [], [], 0
    async for pair in paired(pages(left, left_size), listing(right, right_size)):
        assert [row.storage_key for row in pair.page.revisions] == pair.page.keys
        missing, orphaned = compare.compare(pair.page.keys, pair.objects)
        only_left += missing
        only_right += orphaned
        seen += len(pair.page.keys)
    return only_left, only_right, seen


@settings(deadline=None)
@given(KEYS, KEYS, SIZES, SIZES)
async def test_it_agrees_with_sets(
    left: set[bytes], right: set[bytes], left_size: int, right_size: int
) -> None:
    only_left, only_right, seen = await compared(sorted(left), sorted(right), left_size, right_size)
    assert only_left == sorted(left - right)
    assert only_right == sorted(right - left)
    assert seen == len(left)


@settings(deadline=None)
@given(st.sets(st.integers(0, 5000)), st.sets(st.integers(0, 5000), max_size=20), SIZES)
async def test_few_differences_in_long_listings(few: set[int], other: set[int], size: int) -> None:
    everything = {b"%06d" % number for number in range(5000)}
    left = everything - {b"%06d" % number for number in few}
    right = everything - {b"%06d" % number for number in other}
    only_left, only_right, _ = await compared(sorted(left), sorted(right), 1000, 40 * size)
    assert (only_left, only_right) == (sorted(left - right), sorted(right - left))


@given(st.lists(st.binary(max_size=2), min_size=1, max_size=200), SIZES, st.booleans())
async def test_what_is_out_of_order_is_never_believed(
    keys: list[bytes], size: int, on_the_left: bool
) -> None:
    """Also duplicates: the table's are told apart before, and a store has none."""
    ordered = sorted(set(keys))
    left, right = (keys, ordered) if on_the_left else (ordered, keys)
    if keys == ordered:
        assert (await compared(left, right, size, size))[:2] == ([], [])
        return
    with pytest.raises(KeyOrderError):
        await compared(left, right, size, size)
