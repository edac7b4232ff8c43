-- name: create_token^
INSERT INTO api_tokens (name, role, digest, created_by, expires_at)
VALUES (
    :name, :role, :digest, :created_by, clock_timestamp() + make_interval(secs => :expires_in)
)
RETURNING *;

-- name: list_tokens
SELECT * FROM api_tokens
ORDER BY revoked_at IS NOT NULL, name, id;

-- name: revoke_token^
-- The sessions that began with the token end with it.
WITH revoked AS (
    UPDATE api_tokens SET revoked_at = clock_timestamp()
    WHERE name = :name AND revoked_at IS NULL
    RETURNING *
),

ended AS (
    DELETE FROM browser_sessions WHERE token_id IN (SELECT r.id FROM revoked AS r)
)

SELECT * FROM revoked;

-- name: find_token^
SELECT
    *,
    last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 minute' AS note_use
FROM api_tokens
WHERE
    digest = :digest AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: note_use!
UPDATE api_tokens SET last_used_at = clock_timestamp() WHERE id = :id;

-- name: create_link!
INSERT INTO login_links (digest, role, created_by, expires_at)
VALUES (:digest, :role, :created_by, clock_timestamp() + make_interval(secs => :lifetime));

-- name: forget_expired!
-- A link that was never used says nothing any more, and neither does a session that has ended.
WITH links AS (
    DELETE FROM login_links WHERE used_at IS NULL AND expires_at < clock_timestamp()
)

DELETE FROM browser_sessions WHERE expires_at < clock_timestamp();

-- name: use_link^
UPDATE login_links SET used_at = clock_timestamp()
WHERE digest = :digest AND used_at IS NULL AND expires_at > clock_timestamp()
RETURNING *;

-- name: anybody_known^
SELECT
    EXISTS (SELECT 1 FROM api_tokens)
    OR EXISTS (SELECT 1 FROM login_links AS l WHERE l.used_at IS NOT NULL) AS anybody;

-- name: begin_session!
-- A session that began with a token ends when the token does.
INSERT INTO browser_sessions (digest, name, role, token_id, expires_at)
SELECT
    :digest,
    :name,
    :role,
    :token_id,
    least(
        clock_timestamp() + make_interval(secs => :lifetime),
        (SELECT t.expires_at FROM api_tokens AS t WHERE t.id = :token_id)
    );

-- name: find_session^
SELECT * FROM browser_sessions
WHERE digest = :digest AND expires_at > clock_timestamp();

-- name: end_session!
DELETE FROM browser_sessions WHERE digest = :digest;
