-- name: lock_waiting^
-- The run of the job that waits, locked so that nobody starts it meanwhile.
SELECT id, event FROM runs
WHERE job_id = :job_id AND status = 'queued'
ORDER BY id
LIMIT 1
FOR UPDATE;

-- name: set_event!
UPDATE runs SET event = :event WHERE id = :id;

-- name: cancel_waiting^
UPDATE runs
SET
    status = 'cancelled',
    finished_at = clock_timestamp(),
    cancel_requested_at = clock_timestamp(),
    cancel_requested_by = :who,
    error_code = 'CANCELLED',
    error_message = 'cancelled before it started'
WHERE id = :id AND status = 'queued'
RETURNING *;

-- name: attempt_before^
-- By job and id, which are indexed: the first attempt has no index of its correlation id.
SELECT b.event FROM runs AS r
INNER JOIN runs AS b
    ON r.job_id = b.job_id AND r.correlation_id = b.correlation_id AND r.id > b.id
WHERE r.id = :id
ORDER BY b.id DESC
LIMIT 1;

-- name: listens^
SELECT 1 AS does FROM jobs WHERE id = :job_id AND enabled AND event = :name;

-- name: queue_heir^
-- A run for events that lost theirs. The next pass decides when it may start: it looks at what is
-- not to start at once (look_again_within in event_runs.sql), and moves that to now if no window
-- holds it back.
WITH heir AS (
    INSERT INTO runs (
        job_id, job, kind, exclusive, trigger_by, event, scheduled_at, not_before, priority,
        group_name, runs_on
    )
    SELECT
        j.id,
        j.name,
        j.kind,
        j.overlap <> 'allow',
        'event',
        :event,
        now(),
        now() + make_interval(secs => :soon),
        j.priority,
        j.group_name,
        nullif(j.runs_on, '{}')
    FROM jobs AS j
    WHERE j.id = :job_id
    ON CONFLICT DO NOTHING
    RETURNING *
)

SELECT
    heir.*,
    pg_notify('leitstand_jobs', 'events') AS notified
FROM heir;

-- name: say_about_events^
UPDATE runs SET error_message = :message WHERE id = :id
RETURNING *;
