-- Who began log tables anew, and why; it outlives the events that tell it, and the sources.

CREATE TABLE detection_resets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    epoch integer NOT NULL,
    reason text NOT NULL,
    reset_by text,
    reset_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX detection_resets_of_source ON detection_resets (source, id DESC);

-- What the source counts altogether, by detector; since the last reset.
ALTER TABLE detectors ADD COLUMN late_rows bigint NOT NULL DEFAULT 0;
ALTER TABLE detectors ADD COLUMN dead_ids bigint NOT NULL DEFAULT 0;
