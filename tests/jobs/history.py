"""A long history of runs, as years of operation would have left it, and what is asked beside it."""

from collections.abc import Awaitable, Callable

import psycopg

from leitstand.jobs import JobLedger, Queue, RunStatus

Question = Callable[[JobLedger, Queue], Awaitable[object]]

FAILS_EVERY = 97
"""One of so many runs has failed."""

JOBS = """
INSERT INTO jobs (name, kind, trigger_type, expression, next_run_at)
SELECT 'job-' || lpad(n::text, 3, '0'), 'noop', 'every', '1h', now() + interval '1 hour'
FROM generate_series(0, %(jobs)s - 1) AS n
"""

RUNS = """
INSERT INTO runs (
    job_id, job, kind, status, exclusive, trigger_by, scheduled_at, queued_at, not_before,
    started_at, finished_at, owner, fencing_token, heartbeat_at, error_code, failure_class
)
SELECT
    j.id, j.name, j.kind, h.status, TRUE, 'schedule', h.at, h.at, h.at, h.at,
    h.at + interval '5 seconds', 'control-0', nextval('fencing_token'), h.at,
    CASE WHEN h.status = 'failed' THEN 'EXIT' END,
    CASE WHEN h.status = 'failed' THEN 'transient' END
FROM (
    SELECT
        n,
        now() - make_interval(secs => (%(runs)s - n) * %(every)s::double precision) AS at,
        CASE
            WHEN n %% %(fails_every)s = 0 THEN 'failed' WHEN n %% 499 = 0 THEN 'partial_failure'
            ELSE 'succeeded'
        END AS status
    FROM generate_series(1, %(runs)s) AS n
) AS h
INNER JOIN jobs AS j ON j.name = 'job-' || lpad((h.n %% %(jobs)s)::text, 3, '0')
ORDER BY h.n
"""

LOGS = """
INSERT INTO run_logs (run_id, logged_at, text)
SELECT id, finished_at, 'line ' || line FROM runs CROSS JOIN generate_series(1, 3) AS line
WHERE id %% %(logged)s = 0
"""


def fill_history(conninfo: str, runs: int, jobs: int = 100, logged: int = 10) -> None:
    """Add ``jobs`` jobs with ``runs`` ended runs, one of ``logged`` of them with a log.

    They reach back 400 days, whatever their number, and the planner knows the tables afterwards.
    """
    values = {
        "runs": runs,
        "jobs": jobs,
        "logged": logged,
        "every": 400 * 86400 / runs,
        "fails_every": FAILS_EVERY,
    }
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement in (JOBS, RUNS, LOGS):
            connection.execute(statement, values)
        connection.execute("VACUUM (ANALYZE) runs, run_logs, jobs")


def failed_half_way(runs: int) -> int:
    """The id of a failed run in the middle of a history of so many."""
    return runs // 2 // FAILS_EVERY * FAILS_EVERY


def questions(job: str, middle: int) -> dict[str, Question]:
    """What people and servers ask all day; ``middle`` is the id of a run half way back."""
    return {
        "job list": lambda jobs, _: jobs.list_all(),
        "runs, newest": lambda _, queue: queue.list_runs(),
        "runs, a page half way back": lambda _, queue: queue.list_runs(before=middle),
        "runs of a job": lambda _, queue: queue.list_runs(job),
        "runs of a job, a page half way back": lambda _, queue: queue.list_runs(job, before=middle),
        "failed runs of a job": lambda _, queue: queue.list_runs(job, RunStatus.FAILED),
        "cancelled runs of a job": lambda _, queue: queue.list_runs(job, RunStatus.CANCELLED),
        **{f"{status.value} runs": _of_status(status) for status in RunStatus},
        "a log": lambda _, queue: queue.logs(middle),
        "counts for the metrics": lambda _, queue: queue.active_counts(),
        "jobs that are active": lambda _, queue: queue.active_jobs(),
        "what to start": lambda _, queue: queue.start("nobody", 4),
        "when to wake": lambda _, queue: queue.next_wake(),
    }


def _of_status(status: RunStatus) -> Question:
    return lambda _, queue: queue.list_runs(status=status)


async def retry_and_take_back(queue: Queue, run_id: int) -> None:
    """Queue a further attempt of a run, and cancel it."""
    run = await queue.retry(run_id)
    await queue.cancel(run.id)
