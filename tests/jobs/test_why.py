"""The answers of ``job why`` about runs that wait, and about times long ago."""

from datetime import UTC, datetime, timedelta

from leitstand.events import EventQueue, NewEvent
from leitstand.jobs import Records, WindowLedger, explain, parse_window
from tests.jobs.scene import Scene, control_server, hand_over_events
from tests.jobs.windows import HOUR


async def test_a_run_that_waits_for_its_time_says_so(scene: Scene) -> None:
    """Also a first attempt: an event's, which a window has moved, waits for nothing else."""
    now = datetime.now(UTC)
    spec = {"name": "freeze", "from": now - HOUR, "to": now + HOUR}
    await WindowLedger(scene.database).save(parse_window(spec))
    await scene.job(event="e")
    await EventQueue(scene.database).emit(NewEvent("e", "test", {}))
    await hand_over_events(scene)
    said = (await explain(Records(scene.jobs, scene.queue), "job")).sentences
    assert f"Run 1 waits for its time, {now + HOUR:%Y-%m-%d %H:%M:%S} UTC." in said


async def test_a_time_before_the_last_runs_is_remembered(scene: Scene) -> None:
    """It did run then; only the newest runs were looked at, and the answer was that of silence."""
    await scene.job(overlap="allow")
    async with control_server(scene):
        ended = [await scene.ended(await scene.queue.request("job")) for _ in range(3)]
    await scene.rows(
        "INSERT INTO runs (job_id, job, kind, exclusive, trigger_by, scheduled_at, status,"
        " finished_at) SELECT job_id, job, kind, exclusive, 'user', now(), 'succeeded', now()"
        " FROM runs, generate_series(1, 20) WHERE id = %s RETURNING id",
        ended[0].id,
    )
    answer = await explain(Records(scene.jobs, scene.queue), "job", ended[0].scheduled_at)
    assert [run.id for run in answer.runs] == [ended[0].id]
    planned = f"{ended[0].scheduled_at:%Y-%m-%d %H:%M:%S} UTC"
    assert f"Run {ended[0].id}, planned for {planned}, ended as succeeded." in answer.sentences
    later = ended[0].scheduled_at - timedelta(minutes=5)
    assert (await explain(Records(scene.jobs, scene.queue), "job", later)).runs == ()


async def test_a_run_that_waits_for_others_names_them(scene: Scene) -> None:
    """The run before it, or its group: not all that it could be."""
    records = Records(scene.jobs, scene.queue)
    await scene.job("other", group="store")
    await scene.job(group="store")
    await scene.queue.request("other")
    assert len(await scene.queue.start("a", 1)) == 1
    run = await scene.queue.request("job")
    said = (await explain(records, "job")).sentences
    assert f"Run {run.id} waits for a place in its group store (1 of 1 at work)." in said
    await scene.jobs.set_group_limit("store", 2)
    await scene.queue.start("a", 1)
    next_run = await scene.queue.request("job")
    said = (await explain(records, "job")).sentences
    assert f"Run {next_run.id} waits for the end of run {run.id}." in said
