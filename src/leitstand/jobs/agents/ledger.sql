-- name: is_module^
-- Whether any of these words is the name of another module: a job bound to it would be misled.
SELECT m.name FROM modules AS m
WHERE m.name = ANY(:words) AND m.name <> :name
LIMIT 1;

-- name: register!
INSERT INTO agents (instance, name, host, pid, version, kinds, tags, slots)
VALUES (:instance, :name, :host, :pid, :version, :kinds, :tags, :slots);

-- name: forget_silent!
-- Agents that have been silent for long and hold nothing any more.
DELETE FROM agents AS a
WHERE
    a.heartbeat_at < clock_timestamp() - make_interval(secs => :silent)
    AND NOT EXISTS (
        SELECT 1 FROM runs AS r WHERE r.owner = a.instance AND r.status = 'running'
    );

-- name: list_agents
WITH by_kind AS (
    SELECT
        r.owner,
        r.kind,
        count(*) AS runs
    FROM runs AS r
    WHERE r.status = 'running' AND r.runs_on IS NOT NULL
    GROUP BY r.owner, r.kind
),

active AS (
    SELECT
        k.owner,
        jsonb_object_agg(k.kind, k.runs) AS running
    FROM by_kind AS k
    GROUP BY k.owner
)

SELECT
    a.*,
    extract(EPOCH FROM clock_timestamp() - a.heartbeat_at)::double precision AS silent_for,
    coalesce(active.running, '{}') AS running
FROM agents AS a
LEFT JOIN active ON a.instance = active.owner
WHERE :instance::text IS NULL OR a.instance = :instance
ORDER BY a.name, a.started_at;

-- name: sign_of_life^
UPDATE agents SET heartbeat_at = clock_timestamp() WHERE instance = :instance RETURNING instance;

-- name: farewell!
-- The agent is gone. What it was given and never took goes to others with the next pass.
WITH gone AS (
    DELETE FROM agents AS a WHERE a.instance = :instance AND NOT EXISTS (
        SELECT 1 FROM runs AS h
        WHERE h.owner = :instance AND h.status = 'running'
    )
)

UPDATE runs AS r
SET heartbeat_at = clock_timestamp() - make_interval(secs => :stale)
WHERE r.owner = :instance AND r.status = 'running' AND r.id <> ALL(:held);

-- name: waiting_for_agents
-- What kinds of agents some run waits for that nothing else holds up: many may be woken by it.
SELECT DISTINCT
    r.kind,
    r.runs_on
FROM runs AS r
LEFT JOIN job_groups AS g ON r.group_name = g.name
WHERE
    r.status = 'queued' AND r.runs_on IS NOT NULL AND r.not_before <= clock_timestamp()
    AND NOT (r.exclusive AND EXISTS (
        SELECT 1 FROM runs AS a
        WHERE a.job_id = r.job_id AND a.status = 'running' AND a.exclusive
    ))
    AND (g.name IS NULL OR g.max_running > (
        SELECT count(*) FROM runs AS a
        WHERE a.status = 'running' AND a.group_name = g.name
    ))
LIMIT 1000;

-- name: take_turn^
-- The questions of one agent are answered one after the other, so that its slots are counted right.
SELECT pg_advisory_xact_lock(:space, hashtext(:instance)) AS taken;

-- name: given_tasks
-- What the agent has been given, as start_tasks gives it; with :run also what has ended.
SELECT
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
    j.resume,
    r.cancel_requested_at IS NOT NULL AS cancelled
FROM runs AS r
LEFT JOIN jobs AS j ON r.job_id = j.id
WHERE r.owner = :instance AND (r.id = :run OR (:run::bigint IS NULL AND r.status = 'running'))
ORDER BY r.id;

-- name: start_tasks
-- Claim queued runs for an agent: for each kind up to its free slots, by priority, then planned
-- time, then id; within group limits (lock_groups before). What a full group keeps waiting takes no
-- slot from what comes after it. The next attempt of a run goes to another agent than the one
-- before, unless there is none or it has not come for a while.
WITH me AS (
    SELECT
        a.*,
        array_append(a.tags, a.name) AS words
    FROM agents AS a WHERE a.instance = :instance
),

with_room AS (
    SELECT coalesce(array_agg(g.name), '{}') AS names FROM job_groups AS g
    WHERE
        g.name = ANY(current_setting('leitstand.locked_groups')::text[])
        AND g.max_running > (
            SELECT count(*) FROM runs AS a
            WHERE a.status = 'running' AND a.group_name = g.name
        )
),

fitting AS (
    SELECT found.* FROM me
    CROSS JOIN LATERAL unnest(me.kinds) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT r.id, r.job_id, r.group_name, r.priority, r.scheduled_at FROM runs AS r
        WHERE
            r.status = 'queued' AND r.runs_on IS NOT NULL AND r.kind = k.kind
            AND r.runs_on <@ me.words AND r.not_before <= clock_timestamp()
            AND (
                r.group_name IS NULL
                OR r.group_name = ANY((SELECT w.names FROM with_room AS w)::text[])
            )
            AND NOT (r.exclusive AND EXISTS (
                SELECT 1 FROM runs AS a
                WHERE a.job_id = r.job_id AND a.status = 'running' AND a.exclusive
            ))
            AND NOT (
                r.avoids IS NOT DISTINCT FROM me.name
                AND r.not_before > clock_timestamp() - make_interval(secs => :patience)
                AND EXISTS (
                    SELECT 1 FROM agents AS o
                    WHERE
                        o.name <> me.name AND r.kind = ANY(o.kinds)
                        AND r.runs_on <@ array_append(o.tags, o.name)
                        AND o.heartbeat_at > clock_timestamp() - make_interval(secs => :stale)
                )
            )
        ORDER BY r.priority DESC, r.scheduled_at, r.id
        LIMIT greatest(0, me.slots - (
            SELECT count(*) FROM runs AS a
            WHERE a.status = 'running' AND a.owner = me.instance AND a.kind = k.kind
        ))
        FOR UPDATE SKIP LOCKED
    ) AS found
),

numbered AS (
    SELECT
        f.id,
        f.job_id,
        f.group_name,
        row_number() OVER (
            PARTITION BY f.group_name ORDER BY f.priority DESC, f.scheduled_at, f.id
        ) AS place
    FROM fitting AS f
),

chosen AS (
    SELECT n.id, n.job_id FROM numbered AS n
    WHERE n.group_name IS NULL OR n.place <= (
        SELECT g.max_running FROM job_groups AS g WHERE g.name = n.group_name
    ) - (
        SELECT count(*) FROM runs AS a
        WHERE a.status = 'running' AND a.group_name = n.group_name
    )
)

UPDATE runs AS r
SET
    status = 'running',
    owner = :instance,
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

-- name: append_reports
-- Add to the logs where they end, and say up to where they are stored now. A piece that is there
-- already, or would leave a gap, is left out; what exceeds the limit counts as stored.
WITH said AS (
    SELECT
        n.id,
        n.position,
        n.text,
        coalesce((
            SELECT l.position + char_length(l.text) FROM run_logs AS l
            WHERE l.run_id = n.id AND l.position IS NOT NULL
            ORDER BY l.position DESC
            LIMIT 1
        ), 0) AS stored
    FROM jsonb_to_recordset(:reports) AS n (id bigint, token bigint, position bigint, text text)
    INNER JOIN runs AS r
        ON
            n.id = r.id AND n.token = r.fencing_token AND r.status = 'running'
            AND r.owner = :instance
),

added AS (
    INSERT INTO run_logs (run_id, position, text)
    SELECT
        s.id,
        s.position,
        s.text
    FROM said AS s
    WHERE s.text <> '' AND s.position = s.stored AND s.stored < :max_size
    ON CONFLICT DO NOTHING
)

SELECT
    s.id,
    CASE
        WHEN s.position = s.stored OR s.stored >= :max_size THEN s.position + char_length(s.text)
        ELSE s.stored
    END AS position
FROM said AS s;
