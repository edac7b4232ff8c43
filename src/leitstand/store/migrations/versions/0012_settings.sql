-- Configuration values, global and by tenant, with their history.

-- fingerprint: versions repeat after a restore, their content does not.
CREATE TABLE settings (
    key text NOT NULL CHECK (key <> ''),
    scope text NOT NULL CHECK (scope <> ''),
    value jsonb NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
    fingerprint text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_by text NOT NULL,
    PRIMARY KEY (key, scope)
);

CREATE TABLE setting_history (
    key text NOT NULL,
    scope text NOT NULL,
    version bigint NOT NULL,
    value jsonb NOT NULL,
    fingerprint text NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL,
    PRIMARY KEY (key, scope, version)
);
