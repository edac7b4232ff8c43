-- Log tables of applications, and how far the detectors of each have read.

CREATE TABLE detection_sources (
    name text PRIMARY KEY,
    identity text NOT NULL,
    epoch integer NOT NULL DEFAULT 1,
    version bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'watched', 'offline', 'unavailable')),
    problem text,
    highest bigint,
    id_limit bigint,
    warned boolean NOT NULL DEFAULT false,
    prints jsonb NOT NULL DEFAULT '{}',
    last_run_at timestamptz,
    last_read_at timestamptz,
    resets bigint NOT NULL DEFAULT 0,
    late_rows bigint NOT NULL DEFAULT 0,
    dead_ids bigint NOT NULL DEFAULT 0,
    clock_skew double precision
);

CREATE TABLE detectors (
    source text NOT NULL REFERENCES detection_sources (name) ON DELETE CASCADE,
    event text NOT NULL,
    checkpoint bigint NOT NULL,
    emitted bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (source, event)
);

-- Ids below a detector's checkpoint that it has not seen: rows that come late, or never.
CREATE TABLE detector_gaps (
    source text NOT NULL,
    event text NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    holders text[],
    PRIMARY KEY (source, event, first_id),
    FOREIGN KEY (source, event) REFERENCES detectors (source, event) ON DELETE CASCADE,
    CHECK (first_id <= last_id)
);
