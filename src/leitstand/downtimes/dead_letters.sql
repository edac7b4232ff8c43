-- name: bury*!
INSERT INTO downtime_dead_letters (source, reason, detail, body, digest)
VALUES (:source, :reason, :detail, :body, sha256(:body))
ON CONFLICT (source, digest) DO UPDATE SET
    reason = excluded.reason,
    detail = excluded.detail,
    deliveries = downtime_dead_letters.deliveries + 1,
    last_seen_at = clock_timestamp();

-- name: list_letters
SELECT
    id, source, reason, detail, length(body) AS size, deliveries, first_seen_at, last_seen_at
FROM downtime_dead_letters
WHERE id > :after
ORDER BY id
LIMIT :most;

-- name: get_letter^
SELECT *, length(body) AS size
FROM downtime_dead_letters
WHERE id = :id;

-- name: all_ids
SELECT id FROM downtime_dead_letters ORDER BY id;

-- name: forget^
DELETE FROM downtime_dead_letters
WHERE id = :id
RETURNING id;

-- name: count_letters^
SELECT count(*) AS letters FROM downtime_dead_letters;
