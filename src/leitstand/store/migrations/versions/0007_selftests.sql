-- Self-tests of the checker: what was planted in a copy of a backup, and what was found.

CREATE TABLE selftests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    finished_at timestamptz NOT NULL DEFAULT now(),
    stage text NOT NULL,
    seed bigint NOT NULL,
    planted jsonb NOT NULL,
    planted_count bigint NOT NULL,
    missed_count bigint NOT NULL
);
