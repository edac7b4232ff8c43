-- What Leitstand knows of its object repositories, apart from what lies in them.

-- Which repository was seen at a location: an empty disk in its place must not get a fresh one.
CREATE TABLE object_repositories (
    location text PRIMARY KEY,
    repository text NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE object_snapshots (
    repository text NOT NULL,
    snapshot text NOT NULL,
    taken_at timestamptz NOT NULL,
    complete boolean NOT NULL,
    files bigint,
    bytes bigint,
    sources text[] NOT NULL DEFAULT '{}',
    filled text[] NOT NULL DEFAULT '{}',
    problems jsonb NOT NULL DEFAULT '[]',
    removed_at timestamptz,
    PRIMARY KEY (repository, snapshot)
);

-- A check of the structure has no slice; one that read data did slice n of so many.
CREATE TABLE object_checks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repository text NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    slice integer,
    slices integer,
    ok boolean NOT NULL,
    findings jsonb NOT NULL DEFAULT '[]',
    CHECK ((slice IS NULL AND slices IS NULL) OR slice BETWEEN 1 AND slices)
);

CREATE INDEX object_checks_of_repository ON object_checks (repository, id DESC);
