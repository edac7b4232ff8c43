"""Taking over a directory: at once, durably, or not at all."""

import random
from pathlib import Path

import pytest

from leitstand.archive.atomic import (
    TakeoverError,
    discard,
    exchange,
    exchange_in_two_steps,
    take_over,
)
from leitstand.archive.fresh_directory import fresh_directory
from tests.archive.versions import make_version, version_of
from tests.forking import forker


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    path = tmp_path / "fresh"
    path.mkdir()
    (path / "new").write_text("new")
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    (path / "old").write_text("old")
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_an_absent_target(fresh: Path, tmp_path: Path) -> None:
    assert take_over(fresh, tmp_path / "absent", replace=False) is None
    assert names(tmp_path) == ["absent"]


@pytest.mark.parametrize("replace", [False, True])
def test_an_empty_target(fresh: Path, target: Path, *, replace: bool) -> None:
    (target / "old").unlink()
    assert take_over(fresh, target, replace=replace) is None
    assert names(target) == ["new"]


def test_content_is_never_replaced_unasked(fresh: Path, target: Path) -> None:
    with pytest.raises(TakeoverError):
        take_over(fresh, target, replace=False)
    assert (names(target), names(fresh)) == (["old"], ["new"])


def test_content_is_swapped_and_kept(fresh: Path, target: Path) -> None:
    old = take_over(fresh, target, replace=True)
    assert old is not None
    assert (names(target), names(old)) == (["new"], ["old"])
    exchange(old, target)
    assert names(target) == ["old"]
    assert discard(old) is None


def test_without_the_system_call(fresh: Path, target: Path) -> None:
    old = exchange_in_two_steps(fresh, target)
    assert (names(target), names(old)) == (["new"], ["old"])


def test_the_second_step_fails(fresh: Path, target: Path) -> None:
    with pytest.raises(FileNotFoundError):
        exchange_in_two_steps(fresh.with_name("nowhere"), target)
    assert names(target) == ["old"]


def test_a_hundred_kills_leave_the_old_or_the_new(short_dir: Path) -> None:
    """Whatever is restored, database or objects, takes its place in this manner."""
    target = short_dir / "target"
    make_version(target, "a")
    chance = random.Random(12)
    with forker("tests.archive.versions") as exchanges:
        for _ in range(100):
            exchanges.kill_after(exchanges.start(str(target)), chance.uniform(0, 0.05))
            assert version_of(target) in ("a", "b")
    with fresh_directory(target):
        pass  # the next restore cleans up
    assert [path.name for path in short_dir.iterdir()] == ["target"]
