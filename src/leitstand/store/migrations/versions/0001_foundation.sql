-- Jobs, their runs, the servers that run them, and the record of restore drills.

CREATE SEQUENCE fencing_token;

-- What has happened once and must not happen again, such as the creation of the first jobs.
CREATE TABLE milestones (
    name text PRIMARY KEY,
    reached_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE job_groups (
    name text PRIMARY KEY,
    max_running integer NOT NULL DEFAULT 1 CHECK (max_running > 0)
);

CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    tenant text NOT NULL DEFAULT 'main',
    kind text NOT NULL,
    params jsonb NOT NULL DEFAULT '{}',
    trigger_type text NOT NULL CHECK (
        trigger_type IN ('cron', 'every', 'at', 'manual', 'event')
    ),
    expression text NOT NULL DEFAULT '',
    timezone text NOT NULL DEFAULT 'UTC',
    event text,
    anchor timestamptz NOT NULL DEFAULT now(),
    enabled boolean NOT NULL DEFAULT true,
    managed boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}',
    host text,
    priority integer NOT NULL DEFAULT 0,
    group_name text REFERENCES job_groups (name),
    timeout double precision CHECK (timeout > 0),
    depends_on text[] NOT NULL DEFAULT '{}',
    max_attempts integer NOT NULL DEFAULT 3 CHECK (max_attempts > 0),
    backoff double precision NOT NULL DEFAULT 60 CHECK (backoff >= 0),
    misfire text NOT NULL DEFAULT 'once' CHECK (misfire IN ('once', 'skip', 'all')),
    misfire_limit integer NOT NULL DEFAULT 10 CHECK (misfire_limit > 0),
    overlap text NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'queue', 'allow')),
    window_policy text NOT NULL DEFAULT 'postpone' CHECK (
        window_policy IN ('postpone', 'run', 'only')
    ),
    splay double precision NOT NULL DEFAULT 0 CHECK (splay >= 0),
    resume boolean NOT NULL DEFAULT false,
    next_run_at timestamptz,
    schedule_error text,
    skipped_runs bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX jobs_due ON jobs (next_run_at) WHERE enabled AND next_run_at IS NOT NULL;

CREATE TABLE runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id bigint REFERENCES jobs (id) ON DELETE SET NULL,
    job text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL DEFAULT 'queued' CHECK (
        status IN (
            'queued', 'running', 'succeeded', 'partial_failure', 'failed', 'cancelled'
        )
    ),
    exclusive boolean NOT NULL,
    attempt integer NOT NULL DEFAULT 1,
    correlation_id uuid NOT NULL DEFAULT gen_random_uuid(),
    trigger_by text NOT NULL CHECK (
        trigger_by IN ('schedule', 'event', 'user', 'retry', 'startup')
    ),
    trigger_user text,
    event jsonb,
    scheduled_at timestamptz NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT now(),
    not_before timestamptz NOT NULL DEFAULT now(),
    priority integer NOT NULL DEFAULT 0,
    group_name text,
    started_at timestamptz,
    finished_at timestamptz,
    owner text,
    fencing_token bigint,
    heartbeat_at timestamptz,
    cancel_requested_at timestamptz,
    cancel_requested_by text,
    progress_percent double precision,
    progress_message text,
    bytes_processed bigint NOT NULL DEFAULT 0,
    bytes_written bigint NOT NULL DEFAULT 0,
    objects_processed bigint NOT NULL DEFAULT 0,
    objects_skipped bigint NOT NULL DEFAULT 0,
    skip_reasons text[] NOT NULL DEFAULT '{}',
    error_code text,
    error_message text,
    error_detail text,
    failure_class text CHECK (failure_class IN ('transient', 'permanent')),
    next_attempt_at timestamptz,
    no_retry_reason text,
    result jsonb,
    CHECK ((status IN ('queued', 'running')) = (finished_at IS NULL)),
    CHECK (status <> 'running' OR (owner IS NOT NULL AND fencing_token IS NOT NULL))
) WITH (fillfactor = 70);

-- One run for a planned time, however many servers see it due.
CREATE UNIQUE INDEX runs_one_per_occurrence ON runs (job_id, scheduled_at)
WHERE trigger_by = 'schedule';

-- One row for a further attempt, however many servers rescue or retry a run.
CREATE UNIQUE INDEX runs_one_per_attempt ON runs (correlation_id, attempt) WHERE attempt > 1;

-- One running and one waiting run of a job, unless the job allows more.
CREATE UNIQUE INDEX runs_one_running ON runs (job_id) WHERE status = 'running' AND exclusive;
CREATE UNIQUE INDEX runs_one_waiting ON runs (job_id) WHERE status = 'queued' AND exclusive;

CREATE INDEX runs_waiting ON runs (priority DESC, scheduled_at, id)
WHERE status = 'queued' AND group_name IS NULL;
CREATE INDEX runs_waiting_in_group ON runs (group_name, priority DESC, scheduled_at, id)
WHERE status = 'queued' AND group_name IS NOT NULL;
CREATE INDEX runs_active ON runs (status, id) WHERE status IN ('queued', 'running');
CREATE INDEX runs_of_job ON runs (job_id, id DESC);
CREATE INDEX runs_unsuccessful ON runs (status, id)
WHERE status IN ('partial_failure', 'failed', 'cancelled');
CREATE INDEX runs_finished ON runs (finished_at);

CREATE TABLE run_logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    logged_at timestamptz NOT NULL DEFAULT now(),
    text text NOT NULL
);

CREATE INDEX run_logs_of_run ON run_logs (run_id, id);

CREATE TABLE late_results (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    fencing_token bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    outcome jsonb NOT NULL
);

CREATE INDEX late_results_of_run ON late_results (run_id);

CREATE TABLE non_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id bigint REFERENCES jobs (id) ON DELETE SET NULL,
    job text NOT NULL,
    scheduled_at timestamptz NOT NULL,
    reason text NOT NULL CHECK (
        reason IN ('missed', 'postponed', 'overlap', 'group', 'superseded', 'schedule_error')
    ),
    detail text NOT NULL,
    until timestamptz,
    count bigint NOT NULL DEFAULT 1 CHECK (count > 0),
    recorded_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX non_runs_of_job ON non_runs (job_id, scheduled_at DESC);
CREATE INDEX non_runs_recorded ON non_runs (recorded_at);

CREATE TABLE servers (
    instance text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    max_concurrent_runs integer NOT NULL,
    draining boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    clock_skew double precision NOT NULL DEFAULT 0
);

CREATE TABLE drills (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    finished_at timestamptz NOT NULL DEFAULT now(),
    kind text NOT NULL CHECK (kind IN ('database', 'objects')),
    source text NOT NULL,
    success boolean NOT NULL,
    detail text NOT NULL,
    recovery_time double precision,
    recovery_point_age double precision,
    phases jsonb NOT NULL DEFAULT '{}',
    canaries jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX drills_by_kind ON drills (kind, id DESC);
