-- name: change^
-- Flag, history and notification are one statement. Versions come from one sequence, taken under
-- the row's lock: they grow with every change of a flag, also over a deletion.
-- expected: the version that must be the current one, 0 for none; NULL for any.
WITH changed AS (
    INSERT INTO flags AS f (
        key, enabled, rollout_percentage, target_tenants, version, changed_by
    )
    SELECT
        :key,
        coalesce(:enabled::boolean, FALSE),
        coalesce(:rollout_percentage::integer, 0),
        ARRAY(
            SELECT DISTINCT t.tenant
            FROM unnest(coalesce(:target_tenants::text[], '{}') || :added::text[]) AS t (tenant)
            WHERE t.tenant <> ALL(:removed::text[])
            ORDER BY t.tenant
        ),
        nextval('flag_versions'),
        :changed_by
    WHERE
        coalesce(:expected::bigint, 0) = 0
        OR EXISTS (SELECT FROM flags AS e WHERE e.key = :key)
    ON CONFLICT (key) DO UPDATE SET
        enabled = coalesce(:enabled::boolean, f.enabled),
        rollout_percentage = coalesce(:rollout_percentage::integer, f.rollout_percentage),
        target_tenants = ARRAY(
            SELECT DISTINCT t.tenant
            FROM unnest(
                coalesce(:target_tenants::text[], f.target_tenants) || :added::text[] -- noqa: RF01
            ) AS t (tenant)
            WHERE t.tenant <> ALL(:removed::text[])
            ORDER BY t.tenant
        ),
        version = nextval('flag_versions'),
        changed_at = clock_timestamp(),
        changed_by = excluded.changed_by
    WHERE coalesce(:expected::bigint, f.version) = f.version
    RETURNING *
),

noted AS (
    INSERT INTO flag_history (
        version, key, enabled, rollout_percentage, target_tenants, deleted, changed_at, changed_by
    )
    SELECT
        version,
        key,
        enabled,
        rollout_percentage,
        target_tenants,
        FALSE AS deleted,
        changed_at,
        changed_by
    FROM changed
)

SELECT
    changed.*,
    FALSE AS deleted,
    pg_notify(:channel, changed.key) AS told
FROM changed;

-- name: delete^
WITH deleted AS (
    DELETE FROM flags
    WHERE key = :key AND coalesce(:expected::bigint, version) = version
    RETURNING *
),

noted AS (
    INSERT INTO flag_history (
        version, key, enabled, rollout_percentage, target_tenants, deleted, changed_at, changed_by
    )
    SELECT
        nextval('flag_versions') AS version,
        key,
        enabled,
        rollout_percentage,
        target_tenants,
        TRUE AS deleted,
        clock_timestamp() AS changed_at,
        :changed_by
    FROM deleted
)

SELECT
    deleted.key,
    pg_notify(:channel, deleted.key) AS told
FROM deleted;

-- name: list_flags
SELECT
    *,
    FALSE AS deleted
FROM flags
ORDER BY key;

-- name: find^
SELECT
    *,
    FALSE AS deleted
FROM flags
WHERE key = :key;

-- name: history
SELECT * FROM flag_history
WHERE key = :key AND (:before::bigint IS NULL OR version < :before)
ORDER BY version DESC
LIMIT :max_rows;
