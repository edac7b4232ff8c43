-- name: add_silence^
INSERT INTO alert_silences (rule, matchers, starts_at, ends_at, reason, created_by, weekly)
VALUES (
    :rule,
    :matchers,
    coalesce(:starts_at, clock_timestamp()),
    coalesce(:starts_at, clock_timestamp()) + make_interval(secs => :seconds),
    :reason,
    :created_by,
    :weekly
)
RETURNING *;

-- name: list_silences
SELECT * FROM alert_silences
WHERE ends_at > clock_timestamp() OR :ended
ORDER BY ends_at, id;

-- name: page_of_silences
SELECT * FROM alert_silences
WHERE
    (ends_at > clock_timestamp() OR :ended)
    AND (:before::bigint IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :max_rows;

-- name: get_silence^
SELECT * FROM alert_silences WHERE id = :id;

-- name: end_silence^
UPDATE alert_silences
SET ends_at = greatest(clock_timestamp(), starts_at + interval '1 microsecond')
WHERE id = :id AND ends_at > clock_timestamp()
RETURNING *;
