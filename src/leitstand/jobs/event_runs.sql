-- name: create_event_run^
INSERT INTO runs (
    job_id, job, kind, exclusive, trigger_by, event, scheduled_at, not_before, priority, group_name,
    runs_on
)
SELECT
    :job_id,
    :job,
    :kind,
    :exclusive,
    'event',
    :event,
    t.now,
    coalesce(:not_before, t.now),
    :priority,
    :group_name,
    :runs_on
FROM (SELECT clock_timestamp() AS now) AS t
ON CONFLICT DO NOTHING
RETURNING id;

-- name: look_again_within
-- Runs that windows may hold back, with what windows ask about their jobs: of events, those that
-- wait for one or did; of jobs that run in windows only, whatever nobody asked for and may soon
-- start. Of those some have waited for a slot until the window was over, others are a further
-- attempt.
SELECT
    j.*,
    r.id AS run_id,
    r.not_before,
    r.trigger_by = 'event' AND r.attempt = 1 AS of_event,
    NULL::timestamptz AS last_run_at,
    NULL::text AS last_outcome
FROM runs AS r
INNER JOIN jobs AS j ON r.job_id = j.id
WHERE
    r.status = 'queued' AND (
        (r.trigger_by = 'event' AND r.attempt = 1 AND r.not_before > r.scheduled_at)
        OR (
            j.window_policy = 'only' AND r.trigger_by <> 'user' AND r.trigger_user IS NULL
            AND r.not_before < clock_timestamp() + make_interval(secs => :soon)
        )
    )
ORDER BY r.not_before, r.id
LIMIT :max_rows;

-- name: move_start!
UPDATE runs SET not_before = :not_before WHERE id = :id AND status = 'queued';
