-- Maintenance windows, and which occurrence of a job waits for one to end.

CREATE TABLE windows (
    name text PRIMARY KEY,
    days text[] NOT NULL DEFAULT '{}' CHECK (
        days <@ ARRAY['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
    ),
    from_clock text CHECK (from_clock ~ '^\d\d:\d\d$'),
    to_clock text CHECK (to_clock ~ '^\d\d:\d\d$'),
    timezone text NOT NULL DEFAULT 'UTC',
    from_moment timestamptz,
    to_moment timestamptz,
    jobs text[] NOT NULL DEFAULT '{}',
    tags text[] NOT NULL DEFAULT '{}',
    hosts text[] NOT NULL DEFAULT '{}',
    reason text NOT NULL DEFAULT '',
    managed boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- Weekly or dated, never both or half of one.
    CHECK (
        (
            num_nonnulls(from_clock, to_clock) = 2 AND days <> '{}'
            AND num_nonnulls(from_moment, to_moment) = 0
        ) OR (
            num_nonnulls(from_clock, to_clock) = 0 AND days = '{}'
            AND num_nonnulls(from_moment, to_moment) = 2 AND from_moment < to_moment
        )
    )
);

-- The slot of the occurrence that waits; next_run_at is then the moment to which it was moved.
ALTER TABLE jobs ADD COLUMN postponed_from timestamptz;
