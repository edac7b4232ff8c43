-- name: create_event_run^
INSERT INTO runs (
    job_id, job, kind, exclusive, trigger_by, event, scheduled_at, not_before, priority, group_name,
    runs_on
)
VALUES (
    :job_id,
    :job,
    :kind,
    :exclusive,
    'event',
    :event,
    clock_timestamp(),
    coalesce(:not_before, clock_timestamp()),
    :priority,
    :group_name,
    :runs_on
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: postponed_event_runs
-- Those of events that wait for a window, with what windows ask about their jobs.
SELECT
    j.*,
    r.id AS run_id,
    r.not_before,
    NULL::timestamptz AS last_run_at,
    NULL::text AS last_outcome
FROM runs AS r
INNER JOIN jobs AS j ON r.job_id = j.id
WHERE
    r.status = 'queued' AND r.trigger_by = 'event' AND r.attempt = 1
    AND r.not_before > clock_timestamp()
ORDER BY r.id
LIMIT :max_rows;

-- name: move_start!
UPDATE runs SET not_before = :not_before WHERE id = :id AND status = 'queued';
