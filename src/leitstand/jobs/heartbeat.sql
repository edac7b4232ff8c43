-- name: sign_of_life^
UPDATE servers
SET heartbeat_at = clock_timestamp(), clock_skew = :own_clock - extract(EPOCH FROM now())
WHERE instance = :instance
RETURNING draining, clock_skew;

-- name: beat_runs^
-- Vouch for the runs that this owner holds. A row that somebody has locked is left out, so that
-- one blocked run does not cost the others their heartbeat; it is then neither beaten nor lost.
WITH held AS (
    SELECT r.id, r.fencing_token, r.cancel_requested_at
    FROM runs AS r
    INNER JOIN unnest(:ids::bigint[], :tokens::bigint[]) AS h (id, token)
        ON r.id = h.id AND r.fencing_token = h.token
    WHERE r.status = 'running' AND r.owner = :owner
),

free AS (
    SELECT r.id FROM runs AS r
    WHERE r.id IN (SELECT held.id FROM held)
    FOR NO KEY UPDATE SKIP LOCKED
),

beaten AS (
    UPDATE runs AS r
    SET heartbeat_at = clock_timestamp()
    FROM free
    WHERE r.id = free.id AND r.status = 'running' AND r.fencing_token IN (
        SELECT held.fencing_token FROM held
    )
    RETURNING r.id
)

SELECT
    ARRAY(SELECT held.id FROM held) AS held,
    ARRAY(SELECT beaten.id FROM beaten) AS beaten,
    ARRAY(SELECT held.id FROM held WHERE held.cancel_requested_at IS NOT NULL) AS cancelled;
