-- name: queue_further
-- The further attempts of runs that have just failed, as their jobs are now. There is none for a
-- job that was deleted; nor for one that is disabled, unless somebody asked for the first attempt;
-- nor for a run that somebody wanted to end. That of a job which runs in windows only leaves a pass
-- the time to look whether one is open (:soon, as in look_again_within of event_runs.sql).
INSERT INTO runs (
    job_id, job, kind, exclusive, attempt, failures_before, correlation_id, trigger_by,
    trigger_user, event, scheduled_at, not_before, priority, group_name, runs_on, avoids
)
SELECT
    r.job_id,
    r.job,
    j.kind,
    j.overlap <> 'allow',
    r.attempt + 1,
    r.failures_before + (r.status = 'failed')::integer,
    r.correlation_id,
    'retry',
    r.trigger_user,
    r.event,
    r.scheduled_at,
    CASE
        WHEN j.window_policy = 'only' AND r.trigger_by <> 'user' AND r.trigger_user IS NULL
            THEN greatest(r.next_attempt_at, clock_timestamp() + make_interval(secs => :soon))
        ELSE r.next_attempt_at
    END,
    j.priority,
    j.group_name,
    nullif(j.runs_on, '{}'),
    (SELECT a.name FROM agents AS a WHERE a.instance = r.owner)
FROM runs AS r
INNER JOIN jobs AS j
    ON r.job_id = j.id AND (j.enabled OR r.trigger_by = 'user' OR r.trigger_user IS NOT NULL)
WHERE
    r.id = ANY(:ids) AND r.next_attempt_at IS NOT NULL AND r.cancel_requested_at IS NULL
ORDER BY r.id
ON CONFLICT DO NOTHING
RETURNING id, job, kind, attempt, correlation_id;

-- name: events_left
-- What those of these runs that started for events have, if they get no further attempt although
-- their job takes such events: another run of it waits, or did when their attempts were to be
-- queued.
SELECT
    r.id,
    r.job_id,
    r.event,
    j.deliver = 'each' AS one_at_a_time
FROM runs AS r
INNER JOIN jobs AS j ON r.job_id = j.id AND j.enabled
WHERE
    r.id = ANY(:ids) AND r.event IS NOT NULL AND r.next_attempt_at IS NOT NULL
    AND r.cancel_requested_at IS NULL AND r.event ->> 'name' = j.event
    AND NOT EXISTS (
        SELECT 1 FROM runs AS n
        WHERE
            n.correlation_id = r.correlation_id AND n.attempt = r.attempt + 1
            AND n.attempt > 1  -- for the planner: as the index of further attempts has it
    )
ORDER BY r.job_id;

-- name: set_apart_again!
-- Events that their job takes one at a time, unless they have been pruned meanwhile.
INSERT INTO event_deliveries (job_id, event_id)
SELECT
    :job_id,
    e.id
FROM events AS e
WHERE e.id = ANY(:events)
ON CONFLICT DO NOTHING;

-- name: mark_handed_on!
UPDATE runs
SET next_attempt_at = NULL, no_retry_reason = :reason
WHERE id = :id;

-- name: mark_not_retried!
-- Of these runs some have no next attempt after all: say why, and take the promise back.
UPDATE runs AS r
SET
    next_attempt_at = NULL,
    no_retry_reason = CASE
        WHEN r.cancel_requested_at IS NOT NULL THEN 'somebody asked for its end'
        WHEN r.job_id IS NULL THEN 'the job no longer exists'
        WHEN NOT j.enabled THEN 'the job is disabled'
        ELSE 'another run of the job is waiting already'
    END
FROM runs AS this
LEFT JOIN jobs AS j ON this.job_id = j.id
WHERE
    r.id = this.id AND r.id = ANY(:ids) AND r.next_attempt_at IS NOT NULL
    AND NOT EXISTS (
        SELECT 1 FROM runs AS n
        WHERE
            n.correlation_id = r.correlation_id AND n.attempt = r.attempt + 1
            AND n.attempt > 1  -- for the planner: as the index of further attempts has it
    );
