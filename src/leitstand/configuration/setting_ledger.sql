-- name: save^
-- Value, history and notification are one statement: concurrent writers of a key take turns on its
-- row, and each gets the version after the one before it.
-- expected: the version that must be the current one, 0 for none; NULL for any.
WITH written AS (
    INSERT INTO settings AS s (key, scope, value, version, fingerprint, changed_by)
    SELECT
        :key,
        :scope,
        :value::jsonb,
        1,
        :fingerprint,
        :changed_by
    WHERE
        coalesce(:expected::bigint, 0) = 0
        OR EXISTS (SELECT FROM settings AS e WHERE e.key = :key AND e.scope = :scope)
    ON CONFLICT (key, scope) DO UPDATE SET
        value = excluded.value,
        version = s.version + 1,
        fingerprint = excluded.fingerprint,
        changed_at = clock_timestamp(),
        changed_by = excluded.changed_by
    WHERE
        coalesce(:expected::bigint, s.version) = s.version
        AND coalesce(:expected_content::text, s.fingerprint) = s.fingerprint
    RETURNING *
),

noted AS (
    INSERT INTO setting_history (
        key, scope, version, value, fingerprint, changed_at, changed_by
    )
    SELECT key, scope, version, value, fingerprint, changed_at, changed_by FROM written
)

SELECT written.*, pg_notify(:channel, written.key) AS told FROM written;

-- name: find^
SELECT * FROM settings WHERE key = :key AND scope = :scope;

-- name: history
SELECT * FROM setting_history WHERE key = :key AND scope = :scope ORDER BY version;

-- name: forget_scope^
WITH noted AS (
    DELETE FROM setting_history WHERE scope = :scope
),

gone AS (
    DELETE FROM settings WHERE scope = :scope
    RETURNING key
)

SELECT count(pg_notify(:channel, gone.key)) AS told FROM gone;

-- name: list_settings
SELECT * FROM settings ORDER BY key, scope;
