-- name: change^
WITH changed AS (
    INSERT INTO flags AS f (key, enabled, rollout_percentage, target_tenants)
    VALUES (
        :key,
        coalesce(:enabled::boolean, FALSE),
        coalesce(:rollout_percentage::integer, 0),
        coalesce(:target_tenants::text[], '{}')
    )
    ON CONFLICT (key) DO UPDATE SET
        enabled = coalesce(:enabled::boolean, f.enabled),
        rollout_percentage = coalesce(:rollout_percentage::integer, f.rollout_percentage),
        target_tenants = coalesce(:target_tenants::text[], f.target_tenants),
        changed_at = clock_timestamp()
    RETURNING *
)

SELECT changed.*, pg_notify(:channel, changed.key) AS told FROM changed;

-- name: delete^
WITH deleted AS (DELETE FROM flags WHERE key = :key RETURNING key)

SELECT deleted.key, pg_notify(:channel, deleted.key) AS told FROM deleted;

-- name: list_flags
SELECT * FROM flags ORDER BY key;
