-- name: record^
INSERT INTO drills (
    finished_at, kind, source, success, detail, recovery_time, recovery_point_age, phases, canaries
) VALUES (
    :finished_at, :kind, :source, :success, :detail, :recovery_time, :recovery_point_age,
    :phases, :canaries
)
RETURNING id;

-- name: history
SELECT * FROM drills
WHERE
    (:kind::text IS NULL OR kind = :kind)
    AND (:before::bigint IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :max_rows;

-- name: latest
SELECT DISTINCT ON (kind) * FROM drills ORDER BY kind, id DESC;

-- name: failure_counts
SELECT
    kind,
    count(*) AS failures
FROM drills
WHERE NOT success
GROUP BY kind;

-- name: passed
SELECT
    source,
    max(finished_at) AS finished_at
FROM drills
WHERE kind = :kind AND success
GROUP BY source;
