-- The newest messages to whoever listens: where ids come from, and what a client has missed.

CREATE TABLE live_messages (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    topic text NOT NULL,
    time timestamptz NOT NULL DEFAULT clock_timestamp(),
    data jsonb NOT NULL
);

-- Topics that somebody listens to, or has until a short while ago.
CREATE TABLE live_wanted (
    topic text PRIMARY KEY,
    until timestamptz NOT NULL
);
