"""The job kinds for objects, each carried out by a real worker process; and what is measured."""

import os
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

import pytest

from leitstand.archive import DrillKind, ObjectBackupKind, ObjectMetrics
from leitstand.errors import LeitstandError
from leitstand.execution import Result, run_in_worker
from tests.archive.objects.conftest import Scene
from tests.archive.objects.quick_repository import PASSWORD
from tests.execution.run_scene import Recorded, facts
from tests.forking import ROOT

Run = Callable[..., Coroutine[Any, Any, Result]]


@pytest.fixture
def run(scene: Scene) -> Run:
    """Runs a kind with parameters in a worker process."""

    async def call(kind: str, reporter: Recorded | None = None, /, **params: Any) -> Result:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "TEST_ARCHIVE": str(scene.place),
            "TEST_CONTROL": scene.database.conninfo,
            "TEST_PASSWORD": PASSWORD,
        }
        factory = "tests.archive.kind_factory:make"
        told = reporter or Recorded()
        return await run_in_worker(
            kind, params, facts(kind), told, factory, environment=environment
        )

    return call


async def failure(run: Coroutine[Any, Any, Result]) -> LeitstandError:
    with pytest.raises(LeitstandError) as caught:
        await run
    return caught.value


async def test_backup_drill_check_and_rotate(scene: Scene, run: Run) -> None:
    told = Recorded()
    partial = await run(
        "object-backup", told, directories=[str(scene.tree), str(scene.place / "unmounted")]
    )
    assert partial.objects_skipped == 1
    assert "unmounted" in partial.skip_reasons[0]
    assert any(line.startswith("partial snapshot ") for line in told.lines)

    taken = await run("object-backup", directories=[str(scene.tree)])
    assert (taken.objects_processed, taken.objects_skipped, taken.bytes_written) == (4, 0, 0)

    drilled = await run("restore-drill", kind="objects")
    assert drilled.result["source"] == taken.result["snapshot_id"]
    assert (await scene.archive.drills.history(DrillKind.OBJECTS))[0].success

    checked = await run("object-check", read_data=True, slices=2)
    assert (checked.result["slice"], checked.result["slices"]) == (1, 2)

    told = Recorded()
    rotated = await run("object-rotate", told, keep=1)
    assert len(rotated.result["removed"]) == 2
    assert [message for _, message in told.steps] == ["forget", "prune"]
    assert any("number 1 of the newest 1" in line for line in told.lines)


async def test_what_is_wrong_fails_the_run(scene: Scene, run: Run) -> None:
    scene.damage()
    found = await failure(run("object-check", read_data=True))
    assert found.code == "OBJECT_REPOSITORY_DAMAGED"
    assert scene.biggest_pack().name in str(found.detail)
    drilled = await failure(run("restore-drill", kind="objects"))
    assert drilled.code == "DRILL_FAILED"
    missing = await failure(run("object-backup", directories=[str(scene.place / "unmounted")]))
    assert missing.code == "OBJECT_SOURCE_MISSING"


@pytest.mark.parametrize("directories", [[], ["relative"], "text"])
def test_parameters_that_make_no_sense(directories: object) -> None:
    with pytest.raises(ValueError, match="directories"):
        ObjectBackupKind.params.model_validate({"directories": directories})


async def test_metrics(bare: Scene) -> None:
    def clock() -> datetime:
        return made.snapshot.taken_at

    metrics = ObjectMetrics(bare.archive, clock)
    assert await metrics.collect() == []
    made = await bare.back_up()
    found = {family.name: family for family in await metrics.collect()}
    by_state = found["backup_objects_snapshots"].samples
    assert [sample.value for sample in by_state] == [1, 0]
    assert found["backup_objects_age_seconds"].samples[0].value == 0
    assert found["backup_objects_verified_age_seconds"].samples == []
