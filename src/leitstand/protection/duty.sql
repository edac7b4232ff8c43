-- name: take_turn^
-- At most one control server at a time decides about the next steps.
SELECT pg_try_advisory_xact_lock(:lock) AS taken;

-- name: claim_first_start^
-- The group's row is the sign that the jobs have been created once.
INSERT INTO job_groups (name) VALUES (:name) ON CONFLICT DO NOTHING RETURNING name;
