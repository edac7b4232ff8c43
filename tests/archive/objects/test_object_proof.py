"""What the proof says of snapshots of objects."""

from datetime import UTC, datetime, timedelta

from leitstand.archive import (
    CheckRequest,
    Drill,
    DrillKind,
    SectionReport,
    SnapshotsSection,
    check_objects,
)
from tests.archive.objects.conftest import Scene


async def proof(scene: Scene, later: timedelta = timedelta()) -> SectionReport:
    return await SnapshotsSection(scene.archive).report(datetime.now(UTC) + later)


def problems(report: SectionReport) -> list[str]:
    return [finding.problem for finding in report.findings]


async def test_a_snapshot_is_proven_by_being_read(scene: Scene) -> None:
    unproven = "no complete snapshot was read whole or drilled since it was taken"
    assert problems(await proof(scene)) == [unproven]
    await check_objects(scene.archive, CheckRequest(read_data=True))
    report = await proof(scene)
    assert (report.clean, report.summary) == (True, "1 snapshot, 1 read whole, 0 drilled")
    assert report.facts["latest_check"]["ok"] is True


async def test_each_fault_is_found_and_nothing_else(scene: Scene) -> None:
    await check_objects(scene.archive, CheckRequest(read_data=True))
    early = timedelta(hours=-1)
    assert [p[:26] for p in problems(await proof(scene, early))] == ["it is dated in the future "]

    failed = Drill(datetime.now(UTC), DrillKind.OBJECTS, "8cd8", success=False, detail="empty")
    await scene.archive.drills.record(failed)
    assert problems(await proof(scene)) == ["its last drill failed: empty"]
    (snapshot,) = await scene.snapshots()
    passed = Drill(datetime.now(UTC), DrillKind.OBJECTS, snapshot.id, success=True, detail="")
    await scene.archive.drills.record(passed)
    assert (await proof(scene)).clean

    scene.damage()
    await check_objects(scene.archive, CheckRequest(read_data=True))
    report = await proof(scene)
    assert {finding.subject for finding in report.findings} == {"last check"}


async def test_a_snapshot_that_vanished(scene: Scene) -> None:
    await scene.snapshots()
    for path in (scene.directory / "snapshots").iterdir():
        path.unlink()
    assert problems(await proof(scene)) == [
        "there is no complete snapshot",
        "it is gone, and Leitstand did not remove it",
    ]


async def test_no_repository_is_no_finding(bare: Scene) -> None:
    report = await proof(bare)
    assert (report.clean, report.summary) == (True, "there is no repository")
