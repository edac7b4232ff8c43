"""Checks of a repository: what restic finds, and what it does not."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive import CheckRequest, SnapshotState, check_objects
from leitstand.archive.objects.object_ledger import RepositoryCheck
from leitstand.archive.objects.read_slices import intact_since, next_slice, read_since
from tests.archive.objects.conftest import Scene

START = datetime(2026, 12, 1, tzinfo=UTC)


async def test_a_flipped_byte_is_found_by_reading(scene: Scene) -> None:
    """The structure is sound all the same."""
    scene.damage()
    structure = await check_objects(scene.archive, CheckRequest())
    assert structure.ok
    read = await check_objects(scene.archive, CheckRequest(read_data=True))
    assert not read.ok
    assert any(scene.biggest_pack().name in finding for finding in read.findings)
    (snapshot,) = await scene.snapshots()
    assert snapshot.verified_at is None


async def test_a_pack_that_is_gone_is_found(scene: Scene) -> None:
    pack = scene.biggest_pack()
    pack.unlink()
    result = await check_objects(scene.archive, CheckRequest())
    assert [pack.name in finding for finding in result.findings] == [True]


async def test_reading_everything_in_parts_proves_the_snapshots(scene: Scene) -> None:
    parts = []
    for _ in range(2):
        (snapshot,) = await scene.snapshots()
        assert snapshot.verified_at is None
        result = await check_objects(scene.archive, CheckRequest(read_data=True, slices=2))
        assert result.ok
        parts.append(result.slice)
    (snapshot,) = await scene.snapshots()
    assert snapshot.verified_at is not None
    assert snapshot.is_proven
    assert parts == [1, 2]


async def test_a_snapshot_that_vanished_is_noticed(scene: Scene) -> None:
    """Restic says "no errors were found" of a repository without any snapshot."""
    (snapshot,) = await scene.snapshots()
    for path in (scene.directory / "snapshots").iterdir():
        path.unlink()
    result = await check_objects(scene.archive, CheckRequest())
    assert result.missing == (snapshot.id,)
    assert "is not in the repository any more" in result.findings[0]
    (listed,) = await scene.snapshots()
    assert listed.state is SnapshotState.MISSING
    accepted = await check_objects(scene.archive, CheckRequest(accept_missing=True))
    assert accepted.ok
    assert await scene.snapshots() == []


def check(hour: int, part: int | None, slices: int | None, *, ok: bool = True) -> RepositoryCheck:
    return RepositoryCheck(START + timedelta(hours=hour), ok, part, slices)


@given(st.integers(1, 12), st.integers(0, 40))
def test_every_part_has_its_turn(slices: int, rounds: int) -> None:
    checks: list[RepositoryCheck] = []
    for hour in range(rounds):
        checks.append(check(hour, next_slice(checks, slices), slices))
    assert [each.slice for each in checks] == [hour % slices + 1 for hour in range(rounds)]
    expected = START + timedelta(hours=rounds - slices) if rounds >= slices else None
    assert read_since(checks) == expected


@pytest.mark.parametrize(
    ("checks", "hour"),
    [
        ([], None),
        ([check(1, None, None)], None),
        ([check(1, 1, 1)], 1),
        ([check(1, 1, 2), check(2, 2, 2)], 1),
        ([check(1, 1, 1), check(2, 1, 2)], 1),
        ([check(1, 1, 2), check(2, 2, 3)], None),
        ([check(1, 1, 1), check(2, 1, 1, ok=False)], None),
        ([check(1, 1, 2), check(2, 2, 2, ok=False)], None),
        ([check(1, 1, 1, ok=False), check(2, 1, 2), check(3, 2, 2)], 2),
    ],
)
def test_since_when_all_was_read(checks: list[RepositoryCheck], hour: int | None) -> None:
    """A fault stays until the part in which it was is read without one."""
    expected = None if hour is None else START + timedelta(hours=hour)
    assert read_since(checks) == expected


def test_the_newest_check_decides_about_the_structure() -> None:
    assert intact_since([]) is None
    assert intact_since([check(2, None, None), check(1, 1, 1, ok=False)]) == START + timedelta(
        hours=2
    )
    assert intact_since([check(2, None, None, ok=False), check(1, None, None)]) is None
