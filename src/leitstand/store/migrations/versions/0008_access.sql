-- Who may use the HTTP interface. Of every secret only its SHA-256 is kept: they are 32 random
-- bytes, which nobody can guess from it.

CREATE TABLE api_tokens (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    digest bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);

CREATE UNIQUE INDEX api_tokens_valid_name ON api_tokens (name) WHERE revoked_at IS NULL;

-- Each lets one browser in, once. Those that were used stay: they say that somebody has been here.
CREATE TABLE login_links (
    digest bytea PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);

CREATE TABLE browser_sessions (
    digest bytea PRIMARY KEY,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    token_id bigint REFERENCES api_tokens (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
