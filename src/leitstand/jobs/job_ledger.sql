-- name: database_now^
SELECT clock_timestamp() AS now;

-- name: ensure_group!
INSERT INTO job_groups (name) VALUES (:name) ON CONFLICT DO NOTHING;

-- name: set_group_limit!
INSERT INTO job_groups (name, max_running) VALUES (:name, :max_running)
ON CONFLICT (name) DO UPDATE SET max_running = excluded.max_running;

-- name: list_groups
SELECT
    g.name,
    g.max_running,
    count(r.id) FILTER (WHERE r.status = 'running') AS running,
    count(r.id) FILTER (WHERE r.status = 'queued') AS waiting
FROM job_groups AS g
LEFT JOIN runs AS r ON g.name = r.group_name AND r.status IN ('queued', 'running')
GROUP BY g.name, g.max_running
ORDER BY g.name;

-- name: take_turn_to_apply^
SELECT pg_advisory_xact_lock(:lock) AS taken;

-- name: dependency_edges
SELECT name, depends_on FROM jobs WHERE depends_on <> '{}';

-- name: notify_changed^
-- Times may have changed: the servers look at once what is due next.
SELECT pg_notify('leitstand_jobs', 'jobs') AS notified;

-- name: claim_begins^
SELECT pg_advisory_xact_lock_shared(:lock) AS taken;

-- name: wait_for_claims^
-- A statement of its own: the next one sees what these claims have written.
SELECT pg_advisory_xact_lock(:lock) AS taken;

-- name: look_again_at_postponed^
-- Have the servers decide anew about the occurrences that wait for a window. Names of hosts are
-- compared as downtimes are: without regard to case.
WITH waiting AS (
    SELECT id FROM jobs
    WHERE
        enabled AND postponed_from IS NOT NULL
        AND (
            :hosts::text[] IS NULL
            OR lower(host) = ANY(SELECT lower(h.name) FROM unnest(:hosts::text[]) AS h (name))
        )
    ORDER BY id
    FOR NO KEY UPDATE
),

moved AS (
    UPDATE jobs AS j SET next_run_at = clock_timestamp()
    FROM waiting
    WHERE j.id = waiting.id
)

SELECT pg_notify('leitstand_jobs', 'jobs') AS notified;

-- name: lock_job^
SELECT * FROM jobs WHERE name = :name FOR UPDATE;

-- name: save_job!
INSERT INTO jobs (
    name, tenant, kind, params, trigger_type, expression, timezone, event, deliver, anchor, enabled,
    managed, tags, host, runs_on, priority, group_name, timeout, depends_on, max_attempts, backoff,
    misfire, misfire_limit, overlap, window_policy, splay, resume, next_run_at, postponed_from
) VALUES (
    :name, :tenant, :kind, :params, :trigger_type, :expression, :timezone, :event, :deliver,
    :anchor, :enabled, :managed, :tags, :host, :runs_on, :priority, :group_name, :timeout,
    :depends_on, :max_attempts, :backoff, :misfire, :misfire_limit, :overlap, :window_policy,
    :splay, :resume, :next_run_at, :postponed_from
)
ON CONFLICT (name) DO UPDATE SET
    tenant = excluded.tenant,
    kind = excluded.kind,
    params = excluded.params,
    trigger_type = excluded.trigger_type,
    expression = excluded.expression,
    timezone = excluded.timezone,
    event = excluded.event,
    deliver = excluded.deliver,
    anchor = excluded.anchor,
    enabled = excluded.enabled,
    managed = excluded.managed,
    tags = excluded.tags,
    host = excluded.host,
    runs_on = excluded.runs_on,
    priority = excluded.priority,
    group_name = excluded.group_name,
    timeout = excluded.timeout,
    depends_on = excluded.depends_on,
    max_attempts = excluded.max_attempts,
    backoff = excluded.backoff,
    misfire = excluded.misfire,
    misfire_limit = excluded.misfire_limit,
    overlap = excluded.overlap,
    window_policy = excluded.window_policy,
    splay = excluded.splay,
    resume = excluded.resume,
    next_run_at = excluded.next_run_at,
    postponed_from = excluded.postponed_from,
    schedule_error = NULL,
    updated_at = clock_timestamp();

-- name: take_along_waiting!
-- Runs that wait are started with the parameters that their job has then: that must not be those of
-- another kind, nor at a place that the job was taken away from. One that may run beside others
-- stays so: another may wait as the only one already. One that is being started is not waited for:
-- whoever ends it would wait for the job, which is locked here.
WITH waiting AS (
    SELECT r.id FROM runs AS r
    WHERE r.job_id = :id AND r.status = 'queued'
    FOR UPDATE SKIP LOCKED
)

UPDATE runs AS r
SET
    kind = j.kind,
    exclusive = r.exclusive AND j.overlap <> 'allow',
    priority = j.priority,
    group_name = j.group_name,
    runs_on = nullif(j.runs_on, '{}')
FROM waiting
INNER JOIN jobs AS j ON j.id = :id
WHERE
    r.id = waiting.id
    AND (r.kind, r.exclusive, r.priority, r.group_name, r.runs_on) IS DISTINCT FROM (
        j.kind,
        r.exclusive AND j.overlap <> 'allow',
        j.priority,
        j.group_name,
        nullif(j.runs_on, '{}')
    );

-- name: get_job^
SELECT
    j.*,
    last.last_run_at,
    last.last_outcome
FROM jobs AS j
LEFT JOIN LATERAL last_ended_run(j.id) AS last ON TRUE
WHERE j.name = :name;

-- name: list_jobs
SELECT
    j.*,
    last.last_run_at,
    last.last_outcome
FROM jobs AS j
LEFT JOIN LATERAL last_ended_run(j.id) AS last ON TRUE
ORDER BY j.name;

-- name: job_names
-- Enough to find what a misspelt name was meant to be.
SELECT name FROM jobs
ORDER BY name
LIMIT 2000;

-- name: set_enabled!
UPDATE jobs
SET
    enabled = :enabled,
    next_run_at = :next_run_at,
    postponed_from = NULL,
    schedule_error = NULL,
    updated_at = clock_timestamp()
WHERE id = :id;

-- name: stop_schedule!
UPDATE jobs SET enabled = FALSE, next_run_at = NULL, postponed_from = NULL
WHERE id = :id;

-- name: detach_history^
-- Let one batch of ended runs and of non-runs, the oldest first, belong to no job any more. With an
-- array, and not IN, they are always found by their ids.
WITH runs_left AS (
    UPDATE runs AS r SET job_id = NULL
    WHERE r.id = ANY(ARRAY(
        SELECT o.id FROM runs AS o
        WHERE o.job_id = :id
        ORDER BY o.id
        LIMIT :batch
    ))
    RETURNING 1
),

non_runs_left AS (
    UPDATE non_runs AS n SET job_id = NULL
    WHERE n.id = ANY(ARRAY(
        SELECT o.id FROM non_runs AS o
        WHERE o.job_id = :id
        ORDER BY o.scheduled_at
        LIMIT :batch
    ))
    RETURNING 1
)

SELECT
    (SELECT count(*) FROM runs_left) + (SELECT count(*) FROM non_runs_left) AS detached;

-- name: delete_job!
DELETE FROM jobs WHERE id = :id;

-- name: active_run_of^
SELECT * FROM runs
WHERE job_id = :job_id AND status IN ('queued', 'running')
ORDER BY id DESC
LIMIT 1;

-- name: jobs_listening
-- Enabled jobs that an event of one of these names starts; none of them is deleted meanwhile.
SELECT
    j.*,
    NULL::timestamptz AS last_run_at,
    NULL::text AS last_outcome
FROM jobs AS j
WHERE j.enabled AND j.event = ANY(:names)
ORDER BY j.name
FOR KEY SHARE;

-- name: jobs_ready_for_each
-- Enabled jobs that take their events one at a time and have no run now.
SELECT
    j.*,
    NULL::timestamptz AS last_run_at,
    NULL::text AS last_outcome
FROM jobs AS j
WHERE
    j.enabled AND j.event IS NOT NULL AND j.deliver = 'each'
    AND NOT EXISTS (
        SELECT 1 FROM runs AS r
        WHERE r.job_id = j.id AND r.status IN ('queued', 'running')
    )
ORDER BY j.name
FOR KEY SHARE;

-- name: listened_to
SELECT DISTINCT event FROM jobs
WHERE enabled AND event IS NOT NULL;

-- name: due_jobs
-- Jobs whose planned time has come and that no other server is handling at this moment.
SELECT
    j.*,
    NULL::timestamptz AS last_run_at,
    NULL::text AS last_outcome,
    clock_timestamp() AS database_now,
    running.id AS running_run,
    waiting.id AS waiting_run,
    waiting.attempt AS waiting_attempt
FROM jobs AS j
LEFT JOIN runs AS running
    ON j.id = running.job_id AND running.status = 'running' AND running.exclusive
LEFT JOIN runs AS waiting
    ON j.id = waiting.job_id AND waiting.status = 'queued' AND waiting.exclusive
WHERE j.enabled AND j.next_run_at <= clock_timestamp()
ORDER BY j.next_run_at, j.id
LIMIT :max_jobs
FOR NO KEY UPDATE OF j SKIP LOCKED;

-- name: advance_jobs!
UPDATE jobs AS j
SET
    next_run_at = a.next_run_at,
    postponed_from = a.postponed_from,
    schedule_error = a.schedule_error,
    skipped_runs = j.skipped_runs + a.skipped
FROM jsonb_to_recordset(:advances) AS a (
    id bigint,
    next_run_at timestamptz,
    postponed_from timestamptz,
    schedule_error text,
    skipped bigint
)
WHERE j.id = a.id;

-- name: record_non_runs!
INSERT INTO non_runs (job_id, job, scheduled_at, reason, detail, until, count)
SELECT
    n.job_id,
    n.job,
    n.scheduled_at,
    n.reason,
    n.detail,
    n.until,
    n.count
FROM jsonb_to_recordset(:non_runs) AS n (
    job_id bigint,
    job text,
    scheduled_at timestamptz,
    reason text,
    detail text,
    until timestamptz,
    count bigint
);

-- name: record_postponed!
-- One row for a waiting occurrence: when it is moved once more, the row follows.
WITH moved AS (
    UPDATE non_runs
    SET detail = :detail, until = :until, recorded_at = clock_timestamp()
    WHERE job_id = :job_id AND scheduled_at = :scheduled_at AND reason = 'postponed'
    RETURNING id
)

INSERT INTO non_runs (job_id, job, scheduled_at, reason, detail, until)
SELECT
    :job_id,
    :job,
    :scheduled_at,
    'postponed',
    :detail,
    :until
WHERE NOT EXISTS (SELECT FROM moved);

-- name: end_postponement!
-- The occurrence waits no longer, sooner than foreseen if the window was taken back.
UPDATE non_runs
SET until = least(until, clock_timestamp())
WHERE job_id = :job_id AND scheduled_at = :scheduled_at AND reason = 'postponed';

-- name: list_non_runs
SELECT job, scheduled_at, reason, detail, until, count, recorded_at FROM non_runs
WHERE
    job_id = :job_id
    AND (:at::timestamptz IS NULL OR (
        scheduled_at <= :at::timestamptz AND coalesce(until, scheduled_at) >= :at::timestamptz
    ))
ORDER BY scheduled_at DESC, id DESC
LIMIT :max_rows;
