-- name: take_turn^
-- At most one control server at a time decides about the next steps.
SELECT pg_try_advisory_xact_lock(:lock) AS taken;

-- name: milestone^
SELECT reached_at FROM milestones WHERE name = :name;

-- name: reach_milestone!
INSERT INTO milestones (name) VALUES (:name) ON CONFLICT DO NOTHING;
