-- name: record^
INSERT INTO selftests (finished_at, stage, seed, planted, planted_count, missed_count)
VALUES (:finished_at, :stage, :seed, :planted, :planted_count, :missed_count)
RETURNING id;

-- name: history
SELECT * FROM selftests ORDER BY id DESC LIMIT :max_rows;

-- name: missed^
SELECT coalesce(sum(missed_count), 0)::bigint AS missed FROM selftests;
