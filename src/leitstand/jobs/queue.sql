-- name: create_scheduled_runs
-- One run for each occurrence; an occurrence that has its run already is left alone.
INSERT INTO runs (
    job_id, job, kind, exclusive, trigger_by, scheduled_at, not_before, priority, group_name,
    runs_on
)
SELECT
    n.job_id,
    n.job,
    n.kind,
    n.exclusive,
    'schedule',
    n.scheduled_at,
    n.not_before,
    n.priority,
    n.group_name,
    n.runs_on
FROM jsonb_to_recordset(:runs) AS n (
    job_id bigint,
    job text,
    kind text,
    exclusive boolean,
    scheduled_at timestamptz,
    not_before timestamptz,
    priority integer,
    group_name text,
    runs_on text[]
)
ON CONFLICT DO NOTHING
RETURNING id, job_id, job, kind, attempt, scheduled_at, runs_on;

-- name: notify_tasks^
-- Servers that agents are waiting at need not find the run by their next pass.
SELECT pg_notify('leitstand_jobs', 'tasks') AS notified;

-- name: create_requested_run^
WITH created AS (
    INSERT INTO runs (
        job_id, job, kind, exclusive, trigger_by, trigger_user, scheduled_at, priority, group_name,
        runs_on
    )
    SELECT
        j.id,
        j.name,
        j.kind,
        j.overlap <> 'allow',
        :trigger_by,
        :trigger_user,
        clock_timestamp(),
        j.priority,
        j.group_name,
        nullif(j.runs_on, '{}')
    FROM jobs AS j
    WHERE j.name = :job
    ON CONFLICT DO NOTHING
    RETURNING *
)

SELECT
    created.*,
    pg_notify('leitstand_jobs', 'queued') AS notified
FROM created;

-- name: outcomes_listened_to
-- The events that the ends of these runs are, as far as somebody listens. A job does not hear of
-- its own runs; nor does one that hears of all runs hear of those that such an event started, or
-- two of them would start each other for ever.
SELECT
    r.id AS run,
    r.job,
    r.kind,
    r.status,
    r.attempt,
    r.error_code,
    r.error_message,
    r.next_attempt_at,
    r.finished_at,
    own.tenant,
    n.event_name
FROM runs AS r
INNER JOIN jobs AS own ON r.job_id = own.id
CROSS JOIN LATERAL (
    VALUES ('run.' || r.status, FALSE), ('run.' || r.status || ':' || r.job, TRUE)
) AS n (event_name, specific)
WHERE
    r.id = ANY(:ids)
    AND (n.specific OR coalesce(r.event ->> 'source', '') <> 'runs')
    AND EXISTS (
        SELECT 1 FROM jobs AS j
        WHERE
            j.event = n.event_name AND j.enabled AND j.id <> own.id AND j.tenant = own.tenant
    );

-- name: wake_for_next_event
-- The job may take its next event; the servers need not find that out by their next pass.
SELECT pg_notify('leitstand_jobs', 'events') AS notified
FROM runs AS r
INNER JOIN jobs AS j ON r.job_id = j.id
WHERE r.id = ANY(:ids) AND j.deliver = 'each'
LIMIT 1;

-- name: job_exists^
SELECT 1 AS there FROM jobs WHERE name = :job;

-- name: waiting_run^
SELECT r.* FROM runs AS r
INNER JOIN jobs AS j ON r.job_id = j.id
WHERE j.name = :job AND r.status = 'queued'
ORDER BY r.id
LIMIT 1;

-- name: plan_for_queues
-- Within the transaction: walk the indexes, whatever the statistics of a table that is empty at one
-- moment and full at the next may say, and do not plan each call anew.
SELECT
    set_config('enable_seqscan', 'off', TRUE),
    set_config('enable_bitmapscan', 'off', TRUE),
    set_config('enable_hashjoin', 'off', TRUE),
    set_config('enable_mergejoin', 'off', TRUE),
    set_config('enable_sort', 'off', TRUE),
    set_config('plan_cache_mode', 'force_generic_plan', TRUE);

-- name: lock_groups
-- Whoever holds these locks is the only one to count and fill the groups that have waiting runs.
-- Their names are kept for start_runs, which sees a later state: a group whose first run has come
-- to wait in between is locked by nobody, and must be left to the next pass.
SELECT set_config('leitstand.locked_groups', coalesce(array_agg(l.name), '{}')::text, TRUE)
FROM (
    SELECT g.name FROM job_groups AS g
    WHERE g.name IN (
        SELECT r.group_name FROM runs AS r
        WHERE r.status = 'queued' AND r.group_name IS NOT NULL
    )
    ORDER BY g.name
    FOR NO KEY UPDATE
) AS l;

-- name: start_runs
-- Claim up to :slots queued runs: by priority, then planned time, then id; within group limits.
WITH ungrouped AS (
    SELECT r.id, r.job_id, r.priority, r.scheduled_at FROM runs AS r
    WHERE
        r.status = 'queued' AND r.group_name IS NULL AND r.runs_on IS NULL
        AND r.not_before <= clock_timestamp()
        AND NOT (r.exclusive AND EXISTS (
            SELECT 1 FROM runs AS a
            WHERE a.job_id = r.job_id AND a.status = 'running' AND a.exclusive
        ))
    ORDER BY r.priority DESC, r.scheduled_at, r.id
    LIMIT :slots
    FOR UPDATE SKIP LOCKED
),

grouped AS (
    SELECT fitting.* FROM job_groups AS g
    CROSS JOIN LATERAL (
        SELECT r.id, r.job_id, r.priority, r.scheduled_at FROM runs AS r
        WHERE
            r.status = 'queued' AND r.group_name = g.name AND r.runs_on IS NULL
            AND r.not_before <= clock_timestamp()
            AND NOT (r.exclusive AND EXISTS (
                SELECT 1 FROM runs AS a
                WHERE a.job_id = r.job_id AND a.status = 'running' AND a.exclusive
            ))
        ORDER BY r.priority DESC, r.scheduled_at, r.id
        LIMIT greatest(0, g.max_running - (
            SELECT count(*) FROM runs AS a
            WHERE a.status = 'running' AND a.group_name = g.name
        ))
        FOR UPDATE SKIP LOCKED
    ) AS fitting
    WHERE g.name = ANY(current_setting('leitstand.locked_groups')::text[])
),

chosen AS (
    SELECT id, job_id
    FROM (
        SELECT * FROM ungrouped
        UNION ALL
        SELECT * FROM grouped
    ) AS candidates
    ORDER BY priority DESC, scheduled_at, id
    LIMIT :slots
)

UPDATE runs AS r
SET
    status = 'running',
    owner = :owner,
    fencing_token = nextval('fencing_token'),
    started_at = clock_timestamp(),
    heartbeat_at = clock_timestamp()
FROM chosen
LEFT JOIN jobs AS j ON chosen.job_id = j.id
WHERE r.id = chosen.id AND r.fencing_token IS NULL  -- not by status: its index would be walked
RETURNING
    r.id,
    r.fencing_token,
    r.job,
    r.kind,
    r.attempt,
    r.failures_before,
    r.priority,
    r.correlation_id,
    r.scheduled_at,
    r.event,
    j.id IS NOT NULL AS job_found,
    j.params,
    j.timeout,
    j.depends_on,
    j.max_attempts,
    j.backoff,
    j.resume;

-- name: next_wake^
-- Seconds until the next planned or delayed start, NULL when nothing is planned.
SELECT extract(EPOCH FROM least(
    (SELECT min(j.next_run_at) FROM jobs AS j WHERE j.enabled AND j.next_run_at IS NOT NULL),
    (
        SELECT min(r.not_before) FROM runs AS r
        WHERE r.status = 'queued' AND r.not_before > clock_timestamp()
    )
) - clock_timestamp())::double precision AS seconds;

-- name: stale_runs
-- Running runs that nobody has vouched for within :stale seconds, locked for their release: those
-- of agents, or those of control servers.
SELECT
    r.*,
    coalesce(j.max_attempts, 1) AS job_max_attempts,
    coalesce(j.backoff, 0) AS job_backoff
FROM runs AS r
LEFT JOIN jobs AS j ON r.job_id = j.id
WHERE
    r.status = 'running' AND (r.runs_on IS NOT NULL) = :of_agents
    AND r.heartbeat_at < clock_timestamp() - make_interval(secs => :stale)
ORDER BY r.id
LIMIT 100
FOR NO KEY UPDATE OF r SKIP LOCKED;

-- name: finish_runs
-- Write outcomes; only where the token is still the current one and the run is not final.
UPDATE runs AS r
SET
    status = o.status,
    finished_at = clock_timestamp(),
    bytes_processed = coalesce(o.bytes_processed, 0),
    bytes_written = coalesce(o.bytes_written, 0),
    objects_processed = coalesce(o.objects_processed, 0),
    objects_skipped = coalesce(o.objects_skipped, 0),
    skip_reasons = coalesce(o.skip_reasons, '{}'),
    error_code = o.error_code,
    error_message = o.error_message,
    error_detail = o.error_detail,
    failure_class = o.failure_class,
    no_retry_reason = o.no_retry_reason,
    next_attempt_at = clock_timestamp() + make_interval(secs => o.retry_delay),
    result = o.result
FROM jsonb_to_recordset(:outcomes) AS o (
    id bigint,
    token bigint,
    status text,
    bytes_processed bigint,
    bytes_written bigint,
    objects_processed bigint,
    objects_skipped bigint,
    skip_reasons text[],
    error_code text,
    error_message text,
    error_detail text,
    failure_class text,
    no_retry_reason text,
    retry_delay double precision,
    result jsonb
)
WHERE r.id = o.id AND r.fencing_token = o.token AND r.status = 'running'
RETURNING
    r.id,
    r.job,
    r.kind,
    r.attempt,
    r.correlation_id,
    r.scheduled_at;

-- name: store_late_results!
-- What the run has come to already is not late: only the answer to its first delivery was lost.
INSERT INTO late_results (run_id, fencing_token, outcome)
SELECT r.id, (o.value ->> 'token')::bigint, o.value
FROM jsonb_array_elements(:outcomes) AS o
INNER JOIN runs AS r ON r.id = (o.value ->> 'id')::bigint
WHERE
    NOT EXISTS (
        SELECT 1 FROM late_results AS l
        WHERE l.run_id = r.id AND l.fencing_token = (o.value ->> 'token')::bigint
    )
    AND (r.fencing_token, r.status, r.error_message) IS DISTINCT FROM (
        (o.value ->> 'token')::bigint, o.value ->> 'status', o.value ->> 'error_message'
    );

-- name: late_results_of
SELECT fencing_token, recorded_at, outcome FROM late_results
WHERE run_id = :run_id
ORDER BY id;

-- name: append_logs!
INSERT INTO run_logs (run_id, text)
SELECT r.id, l.text
FROM jsonb_to_recordset(:logs) AS l (id bigint, token bigint, text text)
INNER JOIN runs AS r
    ON l.id = r.id AND l.token = r.fencing_token AND r.status = 'running';

-- name: set_progress!
UPDATE runs AS r
SET progress_percent = p.percent, progress_message = p.message
FROM jsonb_to_recordset(:progress) AS p (
    id bigint, token bigint, percent double precision, message text
)
WHERE r.id = p.id AND r.fencing_token = p.token AND r.status = 'running';

-- name: dependency_outcomes
SELECT
    d.name,
    j.id IS NOT NULL AS exists_now,
    last.last_outcome AS status
FROM unnest(:names::text[]) AS d (name)
LEFT JOIN jobs AS j ON d.name = j.name
LEFT JOIN LATERAL last_ended_run(j.id) AS last ON TRUE;

-- name: request_cancel^
WITH asked AS (
    UPDATE runs
    SET
        cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()),
        cancel_requested_by = coalesce(cancel_requested_by, :who)
    WHERE id = :id AND status = 'running'
    RETURNING *
)

SELECT
    asked.*,
    pg_notify('leitstand_jobs', 'cancel:' || asked.id) AS notified
FROM asked;

-- name: retry_run^
-- A new attempt of a run that ended without success, at once, because somebody asked for it; as its
-- job is now, with which it will be started.
WITH again AS (
    INSERT INTO runs (
        job_id, job, kind, exclusive, attempt, failures_before, correlation_id, trigger_by,
        trigger_user, event, scheduled_at, priority, group_name, runs_on
    )
    SELECT
        r.job_id,
        r.job,
        j.kind,
        j.overlap <> 'allow',
        newest.attempt + 1,
        newest.failures,
        r.correlation_id,
        'user',
        :who,
        r.event,
        r.scheduled_at,
        j.priority,
        j.group_name,
        nullif(j.runs_on, '{}')
    FROM runs AS r
    INNER JOIN jobs AS j ON r.job_id = j.id
    CROSS JOIN LATERAL (
        SELECT
            greatest(r.attempt, max(n.attempt)) AS attempt,
            greatest(
                r.failures_before + (r.status = 'failed')::integer,
                max(n.failures_before + (n.status = 'failed')::integer)
            ) AS failures
        FROM runs AS n
        WHERE n.correlation_id = r.correlation_id AND n.attempt > 1
    ) AS newest
    WHERE
        r.id = :id AND r.finished_at IS NOT NULL AND r.status <> 'succeeded'
    ON CONFLICT DO NOTHING
    RETURNING *
)

SELECT
    again.*,
    pg_notify('leitstand_jobs', 'queued') AS notified
FROM again;

-- name: get_run^
SELECT * FROM runs WHERE id = :id;

-- name: list_runs
SELECT * FROM runs
WHERE
    (:job::text IS NULL OR job_id = (SELECT j.id FROM jobs AS j WHERE j.name = :job))
    AND (:status::text IS NULL OR status = :status)
    AND (:before::bigint IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :max_rows;

-- name: runs_at
-- Runs of the job between whose planned time and end the moment lies, newest first.
SELECT * FROM runs
WHERE
    job_id = (SELECT j.id FROM jobs AS j WHERE j.name = :job)
    AND scheduled_at <= :at AND coalesce(finished_at, :at) >= :at
ORDER BY id DESC
LIMIT :max_rows;

-- name: read_logs
SELECT id, logged_at, text FROM run_logs
WHERE run_id = :run_id AND id > :after
ORDER BY id
LIMIT 500;

-- name: count_by_status
SELECT status, count(*) AS runs FROM runs
WHERE status IN ('queued', 'running')
GROUP BY status;

-- name: active_jobs
SELECT DISTINCT job FROM runs WHERE status IN ('queued', 'running');

-- name: prune_runs^
-- Delete old final runs, never the newest of a job: dependencies and the job list read it.
WITH gone AS (
    DELETE FROM runs AS r
    WHERE r.id IN (
        SELECT o.id FROM runs AS o
        WHERE
            o.finished_at < clock_timestamp() - make_interval(secs => :older_than)
            AND (o.job_id IS NULL OR EXISTS (
                SELECT 1 FROM runs AS n
                WHERE n.job_id = o.job_id AND n.id > o.id AND n.finished_at IS NOT NULL
            ))
        ORDER BY o.finished_at
        LIMIT :batch
    )
    RETURNING 1
)

SELECT count(*) AS gone FROM gone;

-- name: prune_non_runs^
WITH gone AS (
    DELETE FROM non_runs AS n
    WHERE n.id IN (
        SELECT o.id FROM non_runs AS o
        WHERE o.recorded_at < clock_timestamp() - make_interval(secs => :older_than)
        ORDER BY o.recorded_at
        LIMIT :batch
    )
    RETURNING 1
)

SELECT count(*) AS gone FROM gone;
