"""Who hears of how runs end, through the real queue."""

from typing import Any

import pytest

from leitstand.errors import FailureClass
from leitstand.execution import Kinds
from leitstand.jobs import JobLedger, JobSpec, Queue, RunStatus
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.retry import RetryPolicy, decide
from leitstand.notifications import JobNews, Outbox, parse_notify_rules
from leitstand.notifications.notify_rule import NotifyRuleError
from leitstand.store.database import Connection, Database
from tests.jobs.scene import Noop

AUDIENCE = {"default": ("ops@x",)}
FAILED, PARTIAL, WELL = RunStatus.FAILED, RunStatus.PARTIAL_FAILURE, RunStatus.SUCCEEDED


class Scene:
    """Jobs whose runs end as the test says."""

    def __init__(self, database: Database, *rules: dict[str, Any]) -> None:
        self.outbox = Outbox(database)
        news = JobNews(self.outbox, parse_notify_rules(rules), AUDIENCE)
        self.queue = Queue(database, watcher=news)
        self.jobs = JobLedger(database, Kinds([Noop()]))

    async def run(self, status: RunStatus, job: str = "backup", retry: bool = False) -> None:
        """A run of the job from its request to its end."""
        if job not in {each.name for each in await self.jobs.list_all()}:
            await self.jobs.save(JobSpec(name=job, kind="noop"))
        await self.queue.request(job)
        (run,) = await self.queue.start("server", 1)
        code, message = ("BROKEN", "it broke") if status is not WELL else (None, None)
        outcome = Outcome(status, code, message, FailureClass.TRANSIENT if retry else None)
        delay = decide(1, FailureClass.TRANSIENT, RetryPolicy(), 0).delay if retry else None
        await self.queue.finish([FinishedRun(run.lease, outcome, retry_delay=delay)])

    async def told(self) -> list[tuple[str, str, str]]:
        """Recipient, job and status, oldest first."""
        found = reversed(await self.outbox.list_all())
        return [(each.recipient, each.payload["job"], each.payload["status"]) for each in found]


async def test_trouble_is_told_and_its_end_once(database: Database) -> None:
    scene = Scene(database)
    for status in (WELL, FAILED, FAILED, WELL, WELL, PARTIAL):
        await scene.run(status)
    assert await scene.told() == [
        ("ops@x", "backup", "failed"),
        ("ops@x", "backup", "recovered"),
        ("ops@x", "backup", "partial_failure"),
    ]


async def test_the_same_trouble_is_told_again_after_a_while(database: Database) -> None:
    scene = Scene(database, {"repeat": 0})
    await scene.run(FAILED)
    await scene.run(FAILED)
    assert [status for _, _, status in await scene.told()] == ["failed", "failed"]


async def test_a_failure_that_is_tried_again_is_no_news_yet(database: Database) -> None:
    scene = Scene(database)
    await scene.run(FAILED, retry=True)
    assert await scene.told() == []
    every = Scene(database, {"every_attempt": True})
    await every.run(FAILED, job="other", retry=True)
    assert await every.told() == [("ops@x", "other", "failed")]


async def test_rules_say_who_hears_of_what(database: Database) -> None:
    scene = Scene(
        database,
        {"jobs": ["nightly-*"], "recipients": ["night@x"], "recovery": False},
        {"jobs": ["report"], "on": ["succeeded"], "recipients": ["boss@x"]},
        {"kinds": ["command"], "recipients": ["nobody@x"]},
    )
    await scene.run(FAILED, job="nightly-full")
    await scene.run(WELL, job="nightly-full")
    await scene.run(WELL, job="report")
    await scene.run(FAILED, job="report")
    assert await scene.told() == [
        ("night@x", "nightly-full", "failed"),
        ("boss@x", "report", "succeeded"),
    ]


async def test_news_that_cannot_be_stored_cost_no_outcome(database: Database) -> None:
    class Broken:
        async def ended_in(self, connection: Connection, runs: object) -> None:
            await connection.execute("SELECT 1 / 0")

    scene = Scene(database)
    scene.queue = Queue(database, watcher=Broken())
    await scene.run(FAILED)
    (run,) = await scene.queue.list_runs()
    assert run.status is FAILED


@pytest.mark.parametrize(
    "wrong", [{"on": ["odd"]}, {"recipients": []}, {"recipients": ["a@b", " "]}, {"who": 1}]
)
def test_rules_that_make_no_sense_are_typed_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(NotifyRuleError) as caught:
        parse_notify_rules([{}, wrong])
    assert "number 2" in caught.value.message
