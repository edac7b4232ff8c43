"""A long history makes nothing slow: whatever is asked all day, no plan reads the whole table."""

import psycopg
import pytest

from leitstand.errors import FailureClass, NotFoundError
from leitstand.execution import Kinds
from leitstand.jobs import JobLedger, Queue, RunStatus, Servers
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.rescuer import Rescuer
from leitstand.store.database import Database
from tests.jobs.history import failed_half_way, fill_history, questions, retry_and_take_back

RUNS = 20_000
MIDDLE = RUNS // 2
FAILED = failed_half_way(RUNS)
DAY = 86400.0
OFTEN = 12
"""Repetitions: after 10 the database may come to prefer a plan that knows no values."""


@pytest.fixture
def long_history(conninfo: str) -> str:
    """The way to a database with a history."""
    fill_history(conninfo, RUNS, jobs=20)
    return conninfo


def whole_scans(conninfo: str) -> int:
    """How often the table of runs has been read from end to end, by sessions that have ended."""
    with psycopg.connect(conninfo) as connection:
        query = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'runs'"
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


async def test_no_question_reads_all_runs(long_history: str) -> None:
    before = whole_scans(long_history)
    async with Database(long_history, pool_size=1) as database:
        jobs, queue = JobLedger(database, Kinds([])), Queue(database)
        for question in questions("job-007", MIDDLE).values():
            for _ in range(OFTEN):
                await question(jobs, queue)
    assert whole_scans(long_history) == before


async def test_nothing_that_ends_a_run_reads_all_runs(long_history: str) -> None:
    """Retries by hand, promised retries that cannot be, releases, and the count per server."""
    before = whole_scans(long_history)
    async with Database(long_history, pool_size=1) as database:
        queue, servers = Queue(database), Servers(database)
        await servers.register("a", "host", 1, "test", 4)
        for _ in range(OFTEN):
            await retry_and_take_back(queue, FAILED)
            await finish_one_that_cannot_be_retried(database, queue)
            await Rescuer(database, queue, 5.0).run_once()
            await servers.list_all()
    assert whole_scans(long_history) == before


async def finish_one_that_cannot_be_retried(database: Database, queue: Queue) -> None:
    """The job is disabled while a run of it fails."""
    await queue.retry(FAILED)
    (started,) = await queue.start("a", 1)
    async with database.connection() as connection:
        await connection.execute("UPDATE jobs SET enabled = FALSE")
        await connection.execute("UPDATE runs SET trigger_by = 'event' WHERE status = 'running'")
    outcome = Outcome(RunStatus.FAILED, "EXIT", "it failed", FailureClass.TRANSIENT)
    await queue.finish([FinishedRun(started.lease, outcome, retry_delay=1.0)])
    ended = await queue.get(started.lease.run_id)
    assert ended.no_retry_reason == "the job is disabled"


async def test_pruning_reads_what_it_removes(long_history: str) -> None:
    """Batches follow the index of the ends, oldest first; the newest run of each job stays."""
    before = whole_scans(long_history)
    async with Database(long_history, pool_size=1) as database:
        queue = Queue(database)
        removed = [await queue.prune(200 * DAY, batch=1000) for _ in range(11)]
        assert removed[:9] == [1000] * 9
        assert sum(removed) == pytest.approx(MIDDLE, abs=1)
        assert await queue.list_runs(before=MIDDLE - 1) == []
    assert whole_scans(long_history) == before


async def test_a_job_is_deleted_in_batches_and_its_history_stays(
    long_history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leitstand.jobs.job_ledger.HISTORY_BATCH", 300)
    before = whole_scans(long_history)
    async with Database(long_history, pool_size=1) as database:
        jobs, queue = JobLedger(database, Kinds([])), Queue(database)
        await jobs.delete("job-007")
        with pytest.raises(NotFoundError):
            await jobs.get("job-007")
        async with database.transaction() as connection:
            await jobs.delete_in(connection, "job-008")
        assert len(await jobs.list_all()) == 18
        assert [(run.job, run.job_id) for run in [await queue.get(7)]] == [("job-007", None)]
    assert whole_scans(long_history) == before
    assert runs_without_job(long_history) == {"job-007": RUNS // 20, "job-008": RUNS // 20}


async def test_a_deletion_that_was_cut_off_leaves_the_job_disabled(long_history: str) -> None:
    """Nothing claims it half way, and deleting it once more goes on."""
    async with Database(long_history, pool_size=1) as database:
        jobs = JobLedger(database, Kinds([]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("leitstand.jobs.job_ledger.HISTORY_BATCH", 300)
            assert not await jobs._delete_step("job-007")
        job = await jobs.get("job-007")
        assert (job.enabled, job.next_run_at) == (False, None)
        assert job.last_outcome is not None
        await jobs.delete("job-007")
    assert runs_without_job(long_history) == {"job-007": RUNS // 20}


def runs_without_job(conninfo: str) -> dict[str, int]:
    """How many runs each deleted job has left behind."""
    query = "SELECT job, count(*) FROM runs WHERE job_id IS NULL GROUP BY job"
    with psycopg.connect(conninfo) as connection:
        return {row[0]: row[1] for row in connection.execute(query)}
