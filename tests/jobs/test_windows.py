"""Windows end to end: control servers, a database, and occurrences that wait and then run."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from leitstand.errors import NotFoundError
from leitstand.jobs import (
    Job,
    Records,
    Window,
    WindowLedger,
    WindowSource,
    explain,
    look_again_at_postponed,
    parse_window,
)
from tests.jobs.scene import Scene, control_server, eventually, somebody_waits
from tests.jobs.windows import HOUR, window


async def freeze(
    scene: Scene, name: str = "freeze", end: timedelta = HOUR, **fields: Any
) -> Window:
    """A window that has been open for an hour and is for ``end`` from now on."""
    now = datetime.now(UTC)
    spec = parse_window({"name": name, "from": now - HOUR, "to": now + end, **fields})
    return await WindowLedger(scene.database).save(spec)


async def thaw(scene: Scene, name: str = "freeze") -> None:
    await WindowLedger(scene.database).delete(name)


async def waiting(scene: Scene, name: str = "job") -> Job:
    """The job once an occurrence of it waits."""

    async def look() -> Job | None:
        job = await scene.jobs.get(name)
        return job if job.postponed_from is not None else None

    return await eventually(look)


async def row(scene: Scene, reason: str, accept: Callable[[dict[str, Any]], bool]) -> Any:
    """The job's non-run for that reason once it is as wanted."""

    async def look() -> dict[str, Any] | None:
        rows = [each for each in await scene.non_runs("job") if each["reason"] == reason]
        assert len(rows) <= 1
        return rows[0] if rows and accept(rows[0]) else None

    return await eventually(look)


async def test_an_occurrence_waits_for_the_end_of_the_window(scene: Scene) -> None:
    await freeze(scene)
    await scene.job(every="1h")
    await scene.make_due("job")
    async with control_server(scene):
        job = await waiting(scene)
        end = (await freeze(scene, end=timedelta(seconds=1))).as_dict()["to"]
        run = await scene.ended(1)
    assert run.scheduled_at == job.postponed_from == job.anchor
    assert run.started_at is not None
    assert run.started_at >= end
    after = await scene.jobs.get("job")
    assert after.postponed_from is None
    assert after.next_run_at == job.anchor + HOUR
    assert len(await scene.queue.list_runs()) == 1
    told = await row(scene, "postponed", lambda _: True)
    assert (told["scheduled_at"], told["until"]) == (job.anchor, end)
    assert told["detail"] == f"by window freeze to {end:%Y-%m-%d %H:%M:%S} UTC"


async def test_one_run_however_many_slots_and_servers_wait(scene: Scene) -> None:
    """What comes due while one occurrence waits is part of it; exactly one server runs it."""
    await freeze(scene, jobs=["job"])
    await scene.job(every="0.1s")
    async with control_server(scene), control_server(scene, name="b"):
        slot = (await waiting(scene)).postponed_from
        await scene.job("clock", every="1s")
        await scene.ended(1)  # a second of the clock's has passed
        await scene.job("clock")
        before = {run.id for run in await scene.queue.list_runs(job="job")}
        await thaw(scene)
        merged = await row(scene, "superseded", lambda _: True)
        runs = await eventually(lambda: _runs_of_job(scene))
    assert before == set()
    assert merged["count"] >= 5
    assert "which waited for a window" in merged["detail"]
    assert runs[0].scheduled_at == slot
    assert all(run.scheduled_at > merged["until"] for run in runs[1:])
    assert len({run.scheduled_at for run in runs}) == len(runs)


async def _runs_of_job(scene: Scene) -> list[Any] | None:
    return sorted(await scene.queue.list_runs(job="job"), key=lambda run: run.id) or None


async def test_planned_and_moved_time_are_logged(scene: Scene) -> None:
    await freeze(scene, "w1")
    await scene.job(every="1h")
    await scene.make_due("job")
    with capture_logs() as logs:
        async with control_server(scene):
            job = await waiting(scene)
    told = [entry for entry in logs if entry["event"] == "occurrence postponed"]
    assert [(entry["planned"], entry["moved_to"]) for entry in told] == [
        (job.postponed_from, job.next_run_at)
    ]


async def test_a_run_on_request_does_not_wait(scene: Scene) -> None:
    await freeze(scene)
    await scene.job()
    async with control_server(scene):
        run = await scene.ended(await scene.queue.request("job"))
    assert run.status.value == "succeeded"


async def test_policy_run_ignores_windows(scene: Scene) -> None:
    await freeze(scene)
    await scene.job(every="1h", window_policy="run")
    await scene.make_due("job")
    async with control_server(scene):
        await scene.ended(1)
    assert await scene.non_runs("job") == []


async def test_no_allowed_moment_keeps_the_planned_time_and_logs_an_error(scene: Scene) -> None:
    await freeze(scene, end=timedelta(days=400))
    await scene.job(every="1h")
    await scene.make_due("job")
    with capture_logs() as logs:
        async with control_server(scene):
            await scene.ended(1)
    errors = [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["event"] for entry in errors] == ["no allowed moment"]
    assert "366 days" in errors[0]["reason"]


class Downtimes:
    """What a monitoring core says about hosts."""

    def __init__(self, *windows: Window) -> None:
        self.windows = list(windows)
        self.broken = False

    async def windows_for(self, hosts: Collection[str]) -> Sequence[Window]:
        if self.broken:
            raise ConnectionError("the monitoring core is away")
        return [each for each in self.windows if not each.hosts.isdisjoint(hosts)]


def downtime(host: str) -> Window:
    now = datetime.now(UTC)
    begin, end = (now - HOUR).isoformat(), (now + HOUR).isoformat()
    return window(begin, end, name=f"downtime-7-of-{host}", hosts=[host])


class SlowDowntimes:
    """They answer when they may, and none is known."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def windows_for(self, hosts: Collection[str]) -> Sequence[Window]:
        self.asked.set()
        await self.may_answer.wait()
        return []


async def test_a_window_that_goes_while_a_server_claims_holds_nothing_up(scene: Scene) -> None:
    """The claim went by it all the same, and the occurrence waited for the end that it had had."""
    downtimes = scene.downtimes = SlowDowntimes()
    await freeze(scene)
    await scene.job(every="1h", host="db1")
    await scene.make_due("job")
    async with control_server(scene):
        await downtimes.asked.wait()  # the windows that people wrote have been read
        going = asyncio.create_task(thaw(scene))

        async def gone_or_waiting() -> bool | None:
            return going.done() or await somebody_waits(scene)

        await eventually(gone_or_waiting)
        downtimes.may_answer.set()
        await going
        await scene.ended(1)


async def test_a_downtime_of_its_host_postpones_a_job(scene: Scene) -> None:
    scene.downtimes = Downtimes(downtime("db1"))
    await scene.job(every="1h", host="db1")
    await scene.job("elsewhere", every="1h", host="db2")
    for name in ("job", "elsewhere"):
        await scene.make_due(name)
    async with control_server(scene):
        await waiting(scene)
        run = await scene.ended(1)
    assert run.job == "elsewhere"
    told = await row(scene, "postponed", lambda _: True)
    assert "by window downtime-7-of-db1 to" in told["detail"]


async def test_a_patching_job_waits_for_the_downtime_of_its_host(scene: Scene) -> None:
    """Policy `only`: no downtime is known, so it waits; one begins, so it runs."""
    downtimes = scene.downtimes = Downtimes()
    await scene.job(every="1h", host="db1", window_policy="only")
    await scene.make_due("job")
    async with control_server(scene):
        job = await waiting(scene)
        told = await row(scene, "postponed", lambda _: True)
        downtimes.windows.append(downtime("db1"))
        async with scene.database.transaction() as connection:
            await look_again_at_postponed(connection, ["db1"])
        run = await scene.ended(1)
    assert told["until"] is None
    assert run.scheduled_at == job.postponed_from
    ended = await row(scene, "postponed", lambda _: True)
    assert ended["until"] is not None


async def test_downtimes_that_cannot_be_had_stop_no_job(scene: Scene) -> None:
    downtimes = scene.downtimes = Downtimes(downtime("db1"))
    downtimes.broken = True
    await scene.job(every="1h", host="db1")
    await scene.make_due("job")
    with capture_logs() as logs:
        async with control_server(scene):
            await scene.ended(1)
    assert any(entry["event"] == "downtimes are unknown" for entry in logs)


async def test_an_edit_keeps_what_waits_and_a_new_schedule_drops_it(scene: Scene) -> None:
    await freeze(scene)
    await scene.job(every="1h")
    await scene.make_due("job")
    async with control_server(scene):
        job = await waiting(scene)
        await scene.job(every="1h", priority=5)
        assert (await scene.jobs.get("job")).postponed_from == job.postponed_from
        await scene.job(every="2h")
        assert (await scene.jobs.get("job")).postponed_from is None
        await thaw(scene)
    assert await scene.queue.list_runs() == []
    dropped = await row(scene, "superseded", lambda _: True)
    assert dropped["scheduled_at"] == job.postponed_from


async def test_disabling_drops_what_waits(scene: Scene) -> None:
    await freeze(scene)
    await scene.job(every="1h")
    await scene.make_due("job")
    async with control_server(scene):
        job = await waiting(scene)
        await scene.jobs.set_enabled("job", False)
        await thaw(scene)
        await scene.jobs.set_enabled("job", True)
    assert await scene.queue.list_runs() == []
    dropped = await row(scene, "superseded", lambda _: True)
    assert dropped["scheduled_at"] == job.postponed_from


async def test_why_answers_for_times_in_windows(scene: Scene) -> None:
    night = parse_window({"name": "night", "from": "22:00", "to": "04:00", "reason": "patching"})
    await WindowLedger(scene.database).save(night)
    await scene.job(schedule="0 2 * * *")
    source = WindowSource(WindowLedger(scene.database), scene.downtimes)
    at = datetime(2031, 6, 6, 2, tzinfo=UTC)
    answer = await explain(Records(scene.jobs, scene.queue, source), "job", at)
    assert answer.sentences[-2:] == (
        "Window night (patching) is open at 2031-06-06 02:00:00 UTC.",
        "What is due at 2031-06-06 02:00:00 UTC is postponed "
        "by window night to 2031-06-06 04:00:00 UTC.",
    )
    noon = await explain(Records(scene.jobs, scene.queue, source), "job", at + 10 * HOUR)
    assert not any("window" in sentence.lower() for sentence in noon.sentences)


async def test_windows_are_kept_as_they_were_written(scene: Scene) -> None:
    ledger = WindowLedger(scene.database)
    written: list[dict[str, Any]] = [
        {"name": "a", "from": "22:00", "to": "24:00", "days": "sat", "tags": ["db"]},
        {"name": "b", "from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"},
        {"name": "c", "from": "2026-12-24", "to": "2026-12-27", "hosts": ["db1"], "jobs": ["x"]},
    ]
    saved = [await ledger.save(parse_window(each), managed=True) for each in written]
    assert await ledger.list_all() == saved
    await ledger.save(parse_window({"name": "b", "from": "01:00", "to": "02:00"}))
    await ledger.delete("c")
    assert [(each.name, each.managed) for each in await ledger.list_all()] == [
        ("a", True),
        ("b", False),
    ]
    with pytest.raises(NotFoundError, match="'c'"):
        await ledger.delete("c")


async def test_a_window_that_cannot_be_read_stops_nothing(scene: Scene) -> None:
    """A time zone that is abolished by an update of its data is no reason to run no job at all."""
    await freeze(scene, "good")
    await freeze(scene, "bad")
    await scene.rows("UPDATE windows SET timezone = 'Mars' WHERE name = 'bad' RETURNING name")
    with capture_logs() as logs:
        names = [each.name for each in await WindowLedger(scene.database).list_all()]
    assert names == ["good"]
    assert [entry["window"] for entry in logs] == ["bad"]
