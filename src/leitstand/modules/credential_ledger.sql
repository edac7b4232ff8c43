-- name: retire!
-- The newest stays for a while, so that whoever uses it can be given the next one in peace.
UPDATE module_credentials AS c
SET expires_at = least(
    c.expires_at,
    clock_timestamp() + CASE
        WHEN c.client_id = (
            SELECT n.client_id FROM module_credentials AS n
            WHERE n.module = :module
            ORDER BY n.created_at DESC
            LIMIT 1
        ) THEN make_interval(secs => :keep_old)
        ELSE interval '0'
    END
)
WHERE c.module = :module AND coalesce(c.expires_at, 'infinity') > clock_timestamp();

-- name: add!
INSERT INTO module_credentials (client_id, module, secret_sha256, expires_at)
VALUES (
    :client_id,
    :module,
    :secret_sha256,
    clock_timestamp() + make_interval(secs => :expires_in::double precision)
);

-- name: revoke^
UPDATE module_credentials
SET revoked_at = coalesce(revoked_at, clock_timestamp())
WHERE client_id = :client_id AND (:module::text IS NULL OR module = :module)
RETURNING
    client_id,
    module,
    created_at,
    expires_at,
    revoked_at,
    last_used_at,
    FALSE AS valid;

-- name: list_credentials
SELECT
    *,
    revoked_at IS NULL AND coalesce(expires_at, 'infinity') > clock_timestamp() AS valid
FROM module_credentials
ORDER BY module, created_at DESC;

-- name: find^
-- note_use: so that a call a second is not a write a second.
SELECT
    module,
    secret_sha256,
    coalesce(last_used_at, '-infinity') < clock_timestamp() - interval '1 minute' AS note_use
FROM module_credentials
WHERE
    client_id = :client_id
    AND revoked_at IS NULL
    AND coalesce(expires_at, 'infinity') > clock_timestamp();

-- name: note_use!
UPDATE module_credentials SET last_used_at = clock_timestamp() WHERE client_id = :client_id;
