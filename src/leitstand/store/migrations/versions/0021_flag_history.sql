-- Versions of feature flags: who changed what, and on which version.

CREATE SEQUENCE flag_versions AS bigint;

-- The version of what is there already is its first.
ALTER TABLE flags ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE flags ADD COLUMN changed_by text NOT NULL DEFAULT '';
UPDATE flags SET version = nextval('flag_versions');

CREATE TABLE flag_history (
    version bigint PRIMARY KEY,
    key text NOT NULL,
    enabled boolean NOT NULL,
    rollout_percentage integer NOT NULL,
    target_tenants text[] NOT NULL,
    deleted boolean NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL
);

CREATE INDEX flag_history_of_key ON flag_history (key, version);

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
FROM flags;
