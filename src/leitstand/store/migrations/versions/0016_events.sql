-- Events, those that wait for their turn at a job that wants each of them, and how a job wants its.

CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    source text NOT NULL,
    tenant text NOT NULL DEFAULT 'main',
    payload jsonb NOT NULL DEFAULT '{}',
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    state text NOT NULL DEFAULT 'waiting' CHECK (
        state IN ('waiting', 'consumed', 'coalesced', 'unheard')
    ),
    run_id bigint,
    message_id text
);

CREATE INDEX events_waiting ON events (id) WHERE state = 'waiting';
CREATE INDEX events_of_name ON events (name, id DESC);
CREATE INDEX events_stored ON events (stored_at);

-- A sender that is not sure says it again; it is stored once.
CREATE UNIQUE INDEX events_once ON events (source, message_id) WHERE message_id IS NOT NULL;

CREATE TABLE event_deliveries (
    job_id bigint NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    event_id bigint NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    PRIMARY KEY (job_id, event_id)
);

CREATE INDEX event_deliveries_of_event ON event_deliveries (event_id);

ALTER TABLE jobs ADD COLUMN deliver text NOT NULL DEFAULT 'newest';

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE jobs ADD CONSTRAINT jobs_deliver_check CHECK (deliver IN ('newest', 'each'));

-- It holds a few rows, and building it is a single walk over the jobs.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX jobs_listening ON jobs (event) WHERE event IS NOT NULL;
