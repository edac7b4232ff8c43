-- Modules and their credentials, the agents that use them, and the runs that wait for an agent.

CREATE TABLE modules (
    name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9-]{0,62}$'),
    version text NOT NULL CHECK (version <> ''),
    required_flags text[] NOT NULL DEFAULT '{}',
    registered_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE module_credentials (
    client_id text PRIMARY KEY,
    module text NOT NULL REFERENCES modules (name) ON DELETE CASCADE,
    secret_sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);

CREATE INDEX module_credentials_of_module ON module_credentials (module, created_at);

CREATE TABLE agents (
    instance text PRIMARY KEY,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    kinds text[] NOT NULL,
    tags text[] NOT NULL,
    slots integer NOT NULL CHECK (slots > 0),
    started_at timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now()
);

-- The words (its name, its tags) that an agent must have to be given the job's runs.
ALTER TABLE jobs ADD COLUMN runs_on text[] NOT NULL DEFAULT '{}';

-- NULL: a control server runs it. avoids: the agent on which the attempt before it failed.
ALTER TABLE runs ADD COLUMN runs_on text[], ADD COLUMN avoids text;

-- Where in the log that an agent sends this piece begins, in characters: no piece is stored twice.
ALTER TABLE run_logs ADD COLUMN position bigint;

-- The indexes below hold little or nothing, so that building one is a single walk over its table.
-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX run_logs_once ON run_logs (run_id, position) WHERE position IS NOT NULL;

-- Control servers must not have to walk past what waits for agents.
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX runs_waiting;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX runs_waiting ON runs (priority DESC, scheduled_at, id)
WHERE status = 'queued' AND group_name IS NULL AND runs_on IS NULL;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX runs_waiting_for_agents ON runs (kind, priority DESC, scheduled_at, id)
WHERE status = 'queued' AND runs_on IS NOT NULL;
