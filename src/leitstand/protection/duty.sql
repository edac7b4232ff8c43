-- name: take_turn^
-- At most one control server at a time decides about the next steps.
SELECT pg_try_advisory_xact_lock(:lock) AS taken;
