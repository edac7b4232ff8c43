-- name: store_events
INSERT INTO events (name, source, tenant, payload, occurred_at, message_id)
SELECT
    n.name,
    n.source,
    n.tenant,
    n.payload,
    coalesce(n.occurred_at, clock_timestamp()),
    n.message_id
FROM jsonb_to_recordset(:events) AS n (
    position integer,
    name text,
    source text,
    tenant text,
    payload jsonb,
    occurred_at timestamptz,
    message_id text
)
ORDER BY n.position
ON CONFLICT DO NOTHING
RETURNING id;

-- name: known^
SELECT id FROM events WHERE source = :source AND message_id = :message_id;

-- name: wake^
SELECT pg_notify('leitstand_jobs', 'events') AS notified;

-- name: take_turn^
SELECT pg_try_advisory_xact_lock(:lock) AS taken, clock_timestamp() AS now;

-- name: waiting
SELECT id, tenant, name, source, occurred_at FROM events
WHERE state = 'waiting'
ORDER BY id
LIMIT :max_rows;

-- name: read
SELECT * FROM events WHERE id = ANY(:ids) ORDER BY id;

-- name: mark!
UPDATE events SET state = :state, run_id = :run_id WHERE id = ANY(:ids);

-- name: set_apart!
INSERT INTO event_deliveries (job_id, event_id)
SELECT j.job_id, e.event_id
FROM unnest(:jobs::bigint[]) AS j (job_id)
CROSS JOIN unnest(:events::bigint[]) AS e (event_id)
ON CONFLICT DO NOTHING;

-- name: next_apart
SELECT j.job_id, oldest.event_id
FROM unnest(:jobs::bigint[]) AS j (job_id)
CROSS JOIN LATERAL (  -- noqa: ST05
    SELECT d.event_id FROM event_deliveries AS d
    WHERE d.job_id = j.job_id
    ORDER BY d.event_id
    LIMIT 1
) AS oldest;

-- name: delivered!
WITH gone AS (
    DELETE FROM event_deliveries WHERE job_id = :job_id AND event_id = :event_id
)

UPDATE events SET run_id = coalesce(run_id, :run_id) WHERE id = :event_id;

-- name: forget_apart!
DELETE FROM event_deliveries WHERE job_id = :job_id;

-- name: list_events
SELECT * FROM events
WHERE
    (:name::text IS NULL OR name = :name)
    AND (:state::text IS NULL OR state = :state)
    AND (:before::bigint IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :max_rows;

-- name: prune^
WITH gone AS (
    DELETE FROM events AS e
    WHERE e.id IN (
        SELECT o.id FROM events AS o
        LEFT JOIN event_deliveries AS d ON o.id = d.event_id
        WHERE
            o.stored_at < clock_timestamp() - make_interval(secs => :older_than)
            AND o.state <> 'waiting' AND d.event_id IS NULL
        ORDER BY o.stored_at
        LIMIT :batch
    )
    RETURNING 1
)

SELECT count(*) AS gone FROM gone;
