-- name: enqueue
INSERT INTO notifications (message_id, channel, recipient, payload, group_key, max_attempts)
SELECT
    d.message_id,
    d.channel,
    d.recipient,
    d.payload,
    d.group_key,
    :max_attempts
FROM json_to_recordset(:drafts) AS d (
    message_id uuid, channel text, recipient text, payload jsonb, group_key text
)
RETURNING id, message_id;

-- name: wake!
SELECT pg_notify('leitstand_notifications', '');

-- name: release_expired
-- What its worker did not bring to an end may have been sent: it says so from now on.
UPDATE notifications
SET
    status = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'pending' END,
    in_doubt = true,
    leased_until = NULL,
    next_attempt_at = clock_timestamp(),
    last_error = 'the worker was lost while it sent this; it may have arrived',
    updated_at = clock_timestamp()
WHERE id IN (
    SELECT n.id FROM notifications AS n
    WHERE
        n.status = 'sending' AND n.bundled_into IS NULL
        AND n.leased_until < clock_timestamp()
    ORDER BY n.id
    FOR UPDATE SKIP LOCKED
)
RETURNING id;

-- name: bundle!
-- What waits for the same recipient under the same key joins the oldest of them. A message that
-- was tried already stays as it was, or receivers would see two under one id.
WITH waiting AS (
    SELECT
        n.id,
        n.channel,
        n.recipient,
        n.group_key
    FROM notifications AS n
    WHERE
        n.status = 'pending' AND n.bundled_into IS NULL AND n.group_key IS NOT NULL
        AND n.lease = 0 AND n.next_attempt_at <= clock_timestamp()
        AND NOT EXISTS (SELECT 1 FROM notifications AS m WHERE m.bundled_into = n.id)
    ORDER BY n.id
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
),

leads AS (
    SELECT
        channel,
        recipient,
        group_key,
        min(id) AS id
    FROM waiting
    GROUP BY channel, recipient, group_key
)

UPDATE notifications AS n
SET bundled_into = l.id
FROM waiting AS w
INNER JOIN leads AS l
    ON w.channel = l.channel AND w.recipient = l.recipient AND w.group_key = l.group_key
WHERE n.id = w.id AND n.id <> l.id;

-- name: claim
WITH due AS (
    SELECT n.id FROM notifications AS n
    WHERE
        n.status = 'pending' AND n.bundled_into IS NULL
        AND n.next_attempt_at <= clock_timestamp()
    ORDER BY n.id
    LIMIT :max_rows
    FOR UPDATE SKIP LOCKED
)

UPDATE notifications AS n
SET
    status = 'sending',
    attempts = n.attempts + 1,
    lease = n.lease + 1,
    leased_until = clock_timestamp() + make_interval(secs => :lease_seconds),
    updated_at = clock_timestamp()
FROM due
WHERE n.id = due.id
RETURNING
    n.*,
    (
        SELECT jsonb_agg(m.payload ORDER BY m.id) FROM notifications AS m
        WHERE m.bundled_into = n.id
    ) AS bundled;

-- name: record_sent^
UPDATE notifications
SET
    status = 'sent',
    leased_until = NULL,
    last_error = NULL,
    updated_at = clock_timestamp()
WHERE id = :id AND lease = :lease AND status = 'sending'
RETURNING id;

-- name: record_failure^
-- Without a pause there is no further attempt.
UPDATE notifications
SET
    status = CASE WHEN :pause::double precision IS NULL THEN 'failed' ELSE 'pending' END,
    leased_until = NULL,
    last_error = :error,
    next_attempt_at = clock_timestamp() + make_interval(secs => coalesce(:pause, 0)),
    updated_at = clock_timestamp()
WHERE id = :id AND lease = :lease AND status = 'sending'
RETURNING id;

-- name: retry^
UPDATE notifications
SET
    status = 'pending',
    attempts = 0,
    in_doubt = false,
    next_attempt_at = clock_timestamp(),
    updated_at = clock_timestamp()
WHERE id = :id AND status = 'failed' AND bundled_into IS NULL
RETURNING *;

-- name: retry_failed^
WITH again AS (
    UPDATE notifications
    SET
        status = 'pending',
        attempts = 0,
        in_doubt = false,
        next_attempt_at = clock_timestamp(),
        updated_at = clock_timestamp()
    WHERE
        status = 'failed' AND bundled_into IS NULL
        AND (:channel::text IS NULL OR channel = :channel)
    RETURNING 1
)

SELECT count(*) AS again FROM again;

-- name: list_all
-- What was told in the message of another shares its fate.
SELECT
    n.id,
    n.message_id,
    n.channel,
    n.recipient,
    n.payload,
    n.bundled_into,
    n.created_at,
    fate.status,
    fate.attempts,
    fate.max_attempts,
    fate.lease,
    fate.in_doubt,
    fate.next_attempt_at,
    fate.last_error,
    fate.updated_at
FROM notifications AS n
INNER JOIN notifications AS fate ON coalesce(n.bundled_into, n.id) = fate.id
WHERE
    (:id::bigint IS NULL OR n.id = :id)
    AND (:status::text IS NULL OR fate.status = :status)
    AND (:channel::text IS NULL OR n.channel = :channel)
    AND (:before::bigint IS NULL OR n.id < :before)
ORDER BY n.id DESC
LIMIT :max_rows;

-- name: next_due^
-- Seconds until an attempt is due or a lease expires, NULL when nothing waits.
SELECT extract(EPOCH FROM least(
    (
        SELECT min(n.next_attempt_at) FROM notifications AS n
        WHERE n.status = 'pending' AND n.bundled_into IS NULL
    ),
    (
        SELECT min(n.leased_until) FROM notifications AS n
        WHERE n.status = 'sending' AND n.bundled_into IS NULL
    )
) - clock_timestamp())::double precision AS seconds;

-- name: audience
-- To whom these notifications went or will go; those that failed reached nobody.
SELECT
    n.message_id,
    n.channel,
    n.recipient,
    fate.status
FROM notifications AS n
INNER JOIN notifications AS fate ON coalesce(n.bundled_into, n.id) = fate.id
WHERE n.message_id = ANY(:message_ids::uuid[]);

-- name: counts^
SELECT
    count(*) FILTER (WHERE status = 'pending') AS pending,
    count(*) FILTER (WHERE status = 'sending') AS sending,
    count(*) FILTER (WHERE status = 'failed') AS failed,
    count(*) FILTER (WHERE in_doubt) AS in_doubt,
    extract(
        EPOCH FROM clock_timestamp() - min(created_at) FILTER (WHERE status = 'pending')
    )::double precision AS oldest
FROM notifications
WHERE bundled_into IS NULL AND (status <> 'sent' OR in_doubt);

-- name: prune^
WITH gone AS (
    DELETE FROM notifications
    WHERE id IN (
        SELECT o.id FROM notifications AS o
        WHERE
            o.status IN ('sent', 'failed') AND o.bundled_into IS NULL
            AND o.updated_at < clock_timestamp() - make_interval(secs => :older_than)
        ORDER BY o.updated_at
        LIMIT :batch
    )
    RETURNING 1
)

SELECT count(*) AS gone FROM gone;
