"""Stages read side by side, in processes: the same verdict, and nothing left when given up."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.hindrance import UnwritableError
from leitstand.archive.postgres import stage_reading
from leitstand.archive.postgres.materialise import MaterialiseProgress, Report, materialise
from leitstand.archive.postgres.stage import WAL
from leitstand.archive.postgres.stage_reading import StageProcessError, dealt_out
from leitstand.archive.postgres.verify import VerifyProgress, verify_generation
from leitstand.store.account import server_account
from tests.archive.postgres.backup_scene import Scene
from tests.archive.postgres.damage import archive_damages, stage_paths
from tests.archive.postgres.test_extract import file_size_limit
from tests.execution.processes import children, gone, until


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small generations, too; also where there is one processor."""
    monkeypatch.setattr(stage_reading, "WORTH", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@given(st.lists(st.integers(0, 1000), max_size=20), st.integers(1, 5))
def test_all_are_dealt_out_evenly(sizes: list[int], hands: int) -> None:
    dealt = dealt_out(sizes, hands)
    assert sorted(number for hand in dealt for number in hand) == list(range(len(sizes)))
    loads = [sum(sizes[number] for number in hand) for hand in dealt]
    assert max(loads) - min(loads) <= max(sizes, default=0)


@pytest.mark.usefixtures("side_by_side")
def test_the_verdict_is_the_same(
    scene: Scene, generation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[VerifyProgress] = []
    sound = verify_generation(scene.generation, scene.binaries, seen.append)
    assert sound.ok
    assert seen[0].bytes_total == sum(
        p.stat().st_size for s in stage_paths(scene.generation) for p in s.iterdir()
    )
    removal = next(damage for damage in archive_damages(WAL) if damage.id == "member removed")
    for stage in stage_paths(generation)[1:]:
        removal.apply(stage, stage)
    damaged = verify_generation(generation, scene.binaries)
    monkeypatch.setattr(stage_reading, "WORTH", 1 << 60)
    assert damaged == verify_generation(generation, scene.binaries)
    assert {finding.file for finding in damaged.findings} == {WAL}
    assert sound == verify_generation(scene.generation, scene.binaries)


def unpack(scene: Scene, place: Path, report: Report | None = None) -> None:
    data, spaces = place / "data", place / "spaces"
    materialise(scene.generation, data, scene.binaries, server_account(), spaces, report=report)


@pytest.mark.usefixtures("side_by_side")
def test_what_a_process_raises_is_raised(scene: Scene, short_dir: Path) -> None:
    with file_size_limit(1 << 16), pytest.raises(UnwritableError, match="file too large"):
        unpack(scene, short_dir)
    assert list(short_dir.iterdir()) == []


@pytest.mark.usefixtures("side_by_side")
@pytest.mark.parametrize("death", [signal.SIGKILL, None])
def test_nothing_is_left_of_what_was_given_up(
    scene: Scene, short_dir: Path, death: signal.Signals | None
) -> None:
    """A process is killed, or nobody wants to know the result any more."""
    before, started = set(children()), set[int]()

    def report(_: MaterialiseProgress) -> None:
        started.update(set(children()) - before)
        if death is None:
            raise KeyboardInterrupt
        for pid in started:
            os.kill(pid, death)

    with pytest.raises(KeyboardInterrupt if death is None else StageProcessError):
        unpack(scene, short_dir, report)
    assert list(short_dir.iterdir()) == []
    assert len(started) > 1
    until(lambda: gone(*started), 10)
