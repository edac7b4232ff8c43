-- Messages of a monitoring core that could not be used, kept until somebody looks at them.

CREATE TABLE downtime_dead_letters (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    body bytea NOT NULL,
    digest bytea NOT NULL,
    deliveries integer NOT NULL DEFAULT 1 CHECK (deliveries > 0),
    first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A message that is delivered again, after a crash before its acknowledgement, is one letter.
    UNIQUE (source, digest)
);
