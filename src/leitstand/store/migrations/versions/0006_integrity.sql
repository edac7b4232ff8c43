-- Which objects were read when, and what reconciling and scrubbing found.

-- A store whose objects are scrubbed; failures only grows, and is what Prometheus is told.
CREATE TABLE scrub_inventories (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    store text NOT NULL UNIQUE,
    failures bigint NOT NULL DEFAULT 0
);

CREATE TABLE scrub_state (
    inventory bigint NOT NULL REFERENCES scrub_inventories (id) ON DELETE CASCADE,
    storage_key bytea NOT NULL,
    checked_at timestamptz NOT NULL,
    result text NOT NULL CHECK (result IN ('ok', 'failed', 'missing')),
    size bigint NOT NULL DEFAULT 0 CHECK (size >= 0),
    PRIMARY KEY (inventory, storage_key)
);

-- What was checked lately, and what longest ago.
CREATE INDEX scrub_state_by_age ON scrub_state (inventory, checked_at);

CREATE TABLE integrity_reports (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('reconcile', 'scrub')),
    store text NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT now(),
    clean boolean NOT NULL,
    incomplete boolean NOT NULL,
    facts jsonb NOT NULL
);

CREATE INDEX integrity_reports_newest ON integrity_reports (kind, store, id);
