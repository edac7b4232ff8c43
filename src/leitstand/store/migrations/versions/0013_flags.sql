-- Feature flags.

CREATE TABLE flags (
    key text PRIMARY KEY CHECK (key <> ''),
    enabled boolean NOT NULL DEFAULT FALSE,
    rollout_percentage integer NOT NULL DEFAULT 0 CHECK (rollout_percentage BETWEEN 0 AND 100),
    target_tenants text[] NOT NULL DEFAULT '{}',
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
