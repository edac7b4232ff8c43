-- The control database's schema: the sum of all migrations, written by `make schema`.

CREATE FUNCTION public.last_ended_run(job bigint) RETURNS TABLE(last_run_at timestamp with time zone, last_outcome text)
    LANGUAGE sql STABLE
    AS $$
    SELECT r.started_at, r.status FROM runs AS r
    WHERE r.job_id = last_ended_run.job AND r.finished_at IS NOT NULL
    ORDER BY r.id DESC
    LIMIT 1
$$;

CREATE TABLE public.agents (
    instance text NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    kinds text[] NOT NULL,
    tags text[] NOT NULL,
    slots integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT agents_slots_check CHECK ((slots > 0))
);

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);

CREATE TABLE public.alert_rules (
    id bigint NOT NULL,
    name text NOT NULL,
    metric_name text NOT NULL,
    comparison text,
    threshold double precision,
    clear_threshold double precision,
    absent boolean DEFAULT false NOT NULL,
    label_filters jsonb DEFAULT '{}'::jsonb NOT NULL,
    recipient text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    hold_seconds double precision DEFAULT 0 NOT NULL,
    debounce_seconds double precision DEFAULT 900 NOT NULL,
    repeat_seconds double precision,
    group_key text,
    enabled boolean DEFAULT true NOT NULL,
    managed boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT alert_rules_check CHECK ((absent = (num_nonnulls(comparison, threshold) = 0))),
    CONSTRAINT alert_rules_check1 CHECK ((num_nonnulls(comparison, threshold) = ANY (ARRAY[0, 2]))),
    CONSTRAINT alert_rules_clear_threshold_check CHECK ((clear_threshold <> 'NaN'::double precision)),
    CONSTRAINT alert_rules_comparison_check CHECK ((comparison = ANY (ARRAY['gt'::text, 'lt'::text]))),
    CONSTRAINT alert_rules_debounce_seconds_check CHECK ((debounce_seconds >= (0)::double precision)),
    CONSTRAINT alert_rules_hold_seconds_check CHECK ((hold_seconds >= (0)::double precision)),
    CONSTRAINT alert_rules_metric_name_check CHECK ((metric_name <> ''::text)),
    CONSTRAINT alert_rules_recipient_check CHECK ((recipient <> ''::text)),
    CONSTRAINT alert_rules_repeat_seconds_check CHECK ((repeat_seconds > (0)::double precision)),
    CONSTRAINT alert_rules_threshold_check CHECK ((threshold <> 'NaN'::double precision))
);

ALTER TABLE public.alert_rules ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.alert_rules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.alert_silences (
    id bigint NOT NULL,
    rule text,
    matchers jsonb DEFAULT '{}'::jsonb NOT NULL,
    starts_at timestamp with time zone DEFAULT now() NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    created_by text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    weekly jsonb,
    CONSTRAINT alert_silences_check CHECK ((starts_at < ends_at)),
    CONSTRAINT alert_silences_check1 CHECK (((rule IS NOT NULL) OR (matchers <> '{}'::jsonb)))
);

ALTER TABLE public.alert_silences ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.alert_silences_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.alerts (
    id bigint NOT NULL,
    rule_id bigint NOT NULL,
    fingerprint text NOT NULL,
    labels jsonb NOT NULL,
    version bigint NOT NULL,
    phase text NOT NULL,
    value double precision,
    since timestamp with time zone NOT NULL,
    told_at timestamp with time zone,
    told uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    missing_since timestamp with time zone,
    acknowledged_at timestamp with time zone,
    acknowledged_by text,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT alerts_phase_check CHECK ((phase = ANY (ARRAY['pending'::text, 'firing'::text, 'resolved'::text])))
);

ALTER TABLE public.alerts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.alerts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.api_tokens (
    id bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_tokens_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text])))
);

ALTER TABLE public.api_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.api_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.backup_directories (
    directory text NOT NULL,
    mark text NOT NULL,
    generation text NOT NULL,
    last_used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.browser_sessions (
    digest bytea NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    token_id bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT browser_sessions_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text])))
);

CREATE TABLE public.detection_resets (
    id bigint NOT NULL,
    source text NOT NULL,
    epoch integer NOT NULL,
    reason text NOT NULL,
    reset_by text,
    reset_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE public.detection_resets ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.detection_resets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.detection_sources (
    name text NOT NULL,
    identity text NOT NULL,
    epoch integer DEFAULT 1 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    state text DEFAULT 'new'::text NOT NULL,
    problem text,
    highest bigint,
    id_limit bigint,
    warned boolean DEFAULT false NOT NULL,
    prints jsonb DEFAULT '{}'::jsonb NOT NULL,
    last_run_at timestamp with time zone,
    last_read_at timestamp with time zone,
    resets bigint DEFAULT 0 NOT NULL,
    late_rows bigint DEFAULT 0 NOT NULL,
    dead_ids bigint DEFAULT 0 NOT NULL,
    clock_skew double precision,
    CONSTRAINT detection_sources_state_check CHECK ((state = ANY (ARRAY['new'::text, 'watched'::text, 'offline'::text, 'unavailable'::text])))
);

CREATE TABLE public.detector_gaps (
    source text NOT NULL,
    event text NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    holders text[],
    CONSTRAINT detector_gaps_check CHECK ((first_id <= last_id))
);

CREATE TABLE public.detectors (
    source text NOT NULL,
    event text NOT NULL,
    checkpoint bigint NOT NULL,
    emitted bigint DEFAULT 0 NOT NULL,
    late_rows bigint DEFAULT 0 NOT NULL,
    dead_ids bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.downtime_dead_letters (
    id bigint NOT NULL,
    source text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    body bytea NOT NULL,
    digest bytea NOT NULL,
    deliveries integer DEFAULT 1 NOT NULL,
    first_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT downtime_dead_letters_deliveries_check CHECK ((deliveries > 0))
);

ALTER TABLE public.downtime_dead_letters ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.downtime_dead_letters_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.drills (
    id bigint NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    kind text NOT NULL,
    source text NOT NULL,
    success boolean NOT NULL,
    detail text NOT NULL,
    recovery_time double precision,
    recovery_point_age double precision,
    phases jsonb DEFAULT '{}'::jsonb NOT NULL,
    canaries jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT drills_kind_check CHECK ((kind = ANY (ARRAY['database'::text, 'objects'::text])))
);

ALTER TABLE public.drills ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.drills_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.event_deliveries (
    job_id bigint NOT NULL,
    event_id bigint NOT NULL
);

CREATE TABLE public.events (
    id bigint NOT NULL,
    name text NOT NULL,
    source text NOT NULL,
    tenant text DEFAULT 'main'::text NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    stored_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    run_id bigint,
    message_id text,
    CONSTRAINT events_name_check CHECK ((name <> ''::text)),
    CONSTRAINT events_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'consumed'::text, 'coalesced'::text, 'unheard'::text])))
);

ALTER TABLE public.events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE SEQUENCE public.fencing_token
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.flag_history (
    version bigint NOT NULL,
    key text NOT NULL,
    enabled boolean NOT NULL,
    rollout_percentage integer NOT NULL,
    target_tenants text[] NOT NULL,
    deleted boolean NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    changed_by text NOT NULL
);

CREATE SEQUENCE public.flag_versions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.flags (
    key text NOT NULL,
    enabled boolean DEFAULT false NOT NULL,
    rollout_percentage integer DEFAULT 0 NOT NULL,
    target_tenants text[] DEFAULT '{}'::text[] NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    changed_by text DEFAULT ''::text NOT NULL,
    CONSTRAINT flags_key_check CHECK ((key <> ''::text)),
    CONSTRAINT flags_rollout_percentage_check CHECK (((rollout_percentage >= 0) AND (rollout_percentage <= 100)))
);

CREATE TABLE public.integrity_reports (
    id bigint NOT NULL,
    kind text NOT NULL,
    store text NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    clean boolean NOT NULL,
    incomplete boolean NOT NULL,
    facts jsonb NOT NULL,
    CONSTRAINT integrity_reports_kind_check CHECK ((kind = ANY (ARRAY['reconcile'::text, 'scrub'::text])))
);

ALTER TABLE public.integrity_reports ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.integrity_reports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_groups (
    name text NOT NULL,
    max_running integer DEFAULT 1 NOT NULL,
    CONSTRAINT job_groups_max_running_check CHECK ((max_running > 0))
);

CREATE TABLE public.job_troubles (
    job text NOT NULL,
    recipient text NOT NULL,
    status text NOT NULL,
    run_id bigint NOT NULL,
    quiet_until timestamp with time zone NOT NULL
);

CREATE TABLE public.jobs (
    id bigint NOT NULL,
    name text NOT NULL,
    tenant text DEFAULT 'main'::text NOT NULL,
    kind text NOT NULL,
    params jsonb DEFAULT '{}'::jsonb NOT NULL,
    trigger_type text NOT NULL,
    expression text DEFAULT ''::text NOT NULL,
    timezone text DEFAULT 'UTC'::text NOT NULL,
    event text,
    anchor timestamp with time zone DEFAULT now() NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    managed boolean DEFAULT false NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    host text,
    priority integer DEFAULT 0 NOT NULL,
    group_name text,
    timeout double precision,
    depends_on text[] DEFAULT '{}'::text[] NOT NULL,
    max_attempts integer DEFAULT 3 NOT NULL,
    backoff double precision DEFAULT 60 NOT NULL,
    misfire text DEFAULT 'once'::text NOT NULL,
    misfire_limit integer DEFAULT 10 NOT NULL,
    overlap text DEFAULT 'skip'::text NOT NULL,
    window_policy text DEFAULT 'postpone'::text NOT NULL,
    splay double precision DEFAULT 0 NOT NULL,
    resume boolean DEFAULT false NOT NULL,
    next_run_at timestamp with time zone,
    schedule_error text,
    skipped_runs bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    postponed_from timestamp with time zone,
    runs_on text[] DEFAULT '{}'::text[] NOT NULL,
    deliver text DEFAULT 'newest'::text NOT NULL,
    CONSTRAINT jobs_backoff_check CHECK ((backoff >= (0)::double precision)),
    CONSTRAINT jobs_deliver_check CHECK ((deliver = ANY (ARRAY['newest'::text, 'each'::text]))),
    CONSTRAINT jobs_max_attempts_check CHECK ((max_attempts > 0)),
    CONSTRAINT jobs_misfire_check CHECK ((misfire = ANY (ARRAY['once'::text, 'skip'::text, 'all'::text]))),
    CONSTRAINT jobs_misfire_limit_check CHECK ((misfire_limit > 0)),
    CONSTRAINT jobs_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'allow'::text]))),
    CONSTRAINT jobs_splay_check CHECK ((splay >= (0)::double precision)),
    CONSTRAINT jobs_timeout_check CHECK ((timeout > (0)::double precision)),
    CONSTRAINT jobs_trigger_type_check CHECK ((trigger_type = ANY (ARRAY['cron'::text, 'every'::text, 'at'::text, 'manual'::text, 'event'::text]))),
    CONSTRAINT jobs_window_policy_check CHECK ((window_policy = ANY (ARRAY['postpone'::text, 'run'::text, 'only'::text])))
);

ALTER TABLE public.jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.late_results (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    fencing_token bigint NOT NULL,
    recorded_at timestamp with time zone DEFAULT now() NOT NULL,
    outcome jsonb NOT NULL
);

ALTER TABLE public.late_results ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.late_results_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.live_messages (
    id bigint NOT NULL,
    topic text NOT NULL,
    "time" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    data jsonb NOT NULL
);

ALTER TABLE public.live_messages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.live_messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.live_wanted (
    topic text NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE public.login_links (
    digest bytea NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT login_links_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text])))
);

CREATE TABLE public.module_credentials (
    client_id text NOT NULL,
    module text NOT NULL,
    secret_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
);

CREATE TABLE public.modules (
    name text NOT NULL,
    version text NOT NULL,
    required_flags text[] DEFAULT '{}'::text[] NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    metrics_url text,
    CONSTRAINT modules_metrics_url_check CHECK ((metrics_url <> ''::text)),
    CONSTRAINT modules_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
    CONSTRAINT modules_version_check CHECK ((version <> ''::text))
);

CREATE TABLE public.non_runs (
    id bigint NOT NULL,
    job_id bigint,
    job text NOT NULL,
    scheduled_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    until timestamp with time zone,
    count bigint DEFAULT 1 NOT NULL,
    recorded_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT non_runs_count_check CHECK ((count > 0)),
    CONSTRAINT non_runs_reason_check CHECK ((reason = ANY (ARRAY['missed'::text, 'postponed'::text, 'overlap'::text, 'group'::text, 'superseded'::text, 'schedule_error'::text])))
);

ALTER TABLE public.non_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.non_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.notifications (
    id bigint NOT NULL,
    message_id uuid DEFAULT gen_random_uuid() NOT NULL,
    channel text NOT NULL,
    recipient text NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    group_key text,
    bundled_into bigint,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    max_attempts integer NOT NULL,
    lease bigint DEFAULT 0 NOT NULL,
    leased_until timestamp with time zone,
    in_doubt boolean DEFAULT false NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT notifications_channel_check CHECK ((channel <> ''::text)),
    CONSTRAINT notifications_max_attempts_check CHECK ((max_attempts > 0)),
    CONSTRAINT notifications_recipient_check CHECK ((recipient <> ''::text)),
    CONSTRAINT notifications_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'failed'::text])))
);

ALTER TABLE public.notifications ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notifications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.object_checks (
    id bigint NOT NULL,
    repository text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    slice integer,
    slices integer,
    ok boolean NOT NULL,
    findings jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT object_checks_check CHECK ((((slice IS NULL) AND (slices IS NULL)) OR ((slice >= 1) AND (slice <= slices))))
);

ALTER TABLE public.object_checks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.object_checks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.object_repositories (
    location text NOT NULL,
    repository text NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.object_snapshots (
    repository text NOT NULL,
    snapshot text NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    complete boolean NOT NULL,
    files bigint,
    bytes bigint,
    sources text[] DEFAULT '{}'::text[] NOT NULL,
    filled text[] DEFAULT '{}'::text[] NOT NULL,
    problems jsonb DEFAULT '[]'::jsonb NOT NULL,
    removed_at timestamp with time zone
);

CREATE TABLE public.run_logs (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    logged_at timestamp with time zone DEFAULT now() NOT NULL,
    text text NOT NULL,
    "position" bigint
);

ALTER TABLE public.run_logs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_logs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.runs (
    id bigint NOT NULL,
    job_id bigint,
    job text NOT NULL,
    kind text NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    exclusive boolean NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    correlation_id uuid DEFAULT gen_random_uuid() NOT NULL,
    trigger_by text NOT NULL,
    trigger_user text,
    event jsonb,
    scheduled_at timestamp with time zone NOT NULL,
    queued_at timestamp with time zone DEFAULT now() NOT NULL,
    not_before timestamp with time zone DEFAULT now() NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    group_name text,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    owner text,
    fencing_token bigint,
    heartbeat_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    cancel_requested_by text,
    progress_percent double precision,
    progress_message text,
    bytes_processed bigint DEFAULT 0 NOT NULL,
    bytes_written bigint DEFAULT 0 NOT NULL,
    objects_processed bigint DEFAULT 0 NOT NULL,
    objects_skipped bigint DEFAULT 0 NOT NULL,
    skip_reasons text[] DEFAULT '{}'::text[] NOT NULL,
    error_code text,
    error_message text,
    error_detail text,
    failure_class text,
    next_attempt_at timestamp with time zone,
    no_retry_reason text,
    result jsonb,
    runs_on text[],
    avoids text,
    failures_before integer DEFAULT 0 NOT NULL,
    CONSTRAINT runs_check CHECK (((status = ANY (ARRAY['queued'::text, 'running'::text])) = (finished_at IS NULL))),
    CONSTRAINT runs_check1 CHECK (((status <> 'running'::text) OR ((owner IS NOT NULL) AND (fencing_token IS NOT NULL)))),
    CONSTRAINT runs_failure_class_check CHECK ((failure_class = ANY (ARRAY['transient'::text, 'permanent'::text]))),
    CONSTRAINT runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'partial_failure'::text, 'failed'::text, 'cancelled'::text]))),
    CONSTRAINT runs_trigger_by_check CHECK ((trigger_by = ANY (ARRAY['schedule'::text, 'event'::text, 'user'::text, 'retry'::text, 'startup'::text])))
)
WITH (fillfactor='70');

ALTER TABLE public.runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.scrub_inventories (
    id bigint NOT NULL,
    store text NOT NULL,
    failures bigint DEFAULT 0 NOT NULL
);

ALTER TABLE public.scrub_inventories ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.scrub_inventories_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.scrub_state (
    inventory bigint NOT NULL,
    storage_key bytea NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    result text NOT NULL,
    size bigint DEFAULT 0 NOT NULL,
    CONSTRAINT scrub_state_result_check CHECK ((result = ANY (ARRAY['ok'::text, 'failed'::text, 'missing'::text]))),
    CONSTRAINT scrub_state_size_check CHECK ((size >= 0))
)
WITH (fillfactor='50');

CREATE TABLE public.selftests (
    id bigint NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    stage text NOT NULL,
    seed bigint NOT NULL,
    planted jsonb NOT NULL,
    planted_count bigint NOT NULL,
    missed_count bigint NOT NULL
);

ALTER TABLE public.selftests ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.selftests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.servers (
    instance text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    max_concurrent_runs integer NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    clock_skew double precision DEFAULT 0 NOT NULL
);

CREATE TABLE public.setting_history (
    key text NOT NULL,
    scope text NOT NULL,
    version bigint NOT NULL,
    value jsonb NOT NULL,
    fingerprint text NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    changed_by text NOT NULL
);

CREATE TABLE public.settings (
    key text NOT NULL,
    scope text NOT NULL,
    value jsonb NOT NULL,
    version bigint NOT NULL,
    fingerprint text NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_by text NOT NULL,
    CONSTRAINT settings_key_check CHECK ((key <> ''::text)),
    CONSTRAINT settings_scope_check CHECK ((scope <> ''::text)),
    CONSTRAINT settings_version_check CHECK ((version > 0))
);

CREATE TABLE public.tenants (
    slug text NOT NULL,
    name text NOT NULL,
    database text NOT NULL,
    reference text NOT NULL,
    status text NOT NULL,
    mark uuid DEFAULT gen_random_uuid() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    drop_at timestamp with time zone,
    CONSTRAINT tenants_name_check CHECK ((name <> ''::text)),
    CONSTRAINT tenants_slug_check CHECK ((slug ~ '^[a-z][a-z0-9_]{0,39}$'::text)),
    CONSTRAINT tenants_status_check CHECK ((status = ANY (ARRAY['provisioning'::text, 'active'::text, 'deleting'::text, 'failed_cleanup'::text])))
);

CREATE TABLE public.windows (
    name text NOT NULL,
    days text[] DEFAULT '{}'::text[] NOT NULL,
    from_clock text,
    to_clock text,
    timezone text DEFAULT 'UTC'::text NOT NULL,
    from_moment timestamp with time zone,
    to_moment timestamp with time zone,
    jobs text[] DEFAULT '{}'::text[] NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    hosts text[] DEFAULT '{}'::text[] NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    managed boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT windows_check CHECK ((((num_nonnulls(from_clock, to_clock) = 2) AND (days <> '{}'::text[]) AND (num_nonnulls(from_moment, to_moment) = 0)) OR ((num_nonnulls(from_clock, to_clock) = 0) AND (days = '{}'::text[]) AND (num_nonnulls(from_moment, to_moment) = 2) AND (from_moment < to_moment)))),
    CONSTRAINT windows_days_check CHECK ((days <@ ARRAY['mon'::text, 'tue'::text, 'wed'::text, 'thu'::text, 'fri'::text, 'sat'::text, 'sun'::text])),
    CONSTRAINT windows_from_clock_check CHECK ((from_clock ~ '^\d\d:\d\d$'::text)),
    CONSTRAINT windows_to_clock_check CHECK ((to_clock ~ '^\d\d:\d\d$'::text))
);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (instance);

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

ALTER TABLE ONLY public.alert_rules
    ADD CONSTRAINT alert_rules_name_key UNIQUE (name);

ALTER TABLE ONLY public.alert_rules
    ADD CONSTRAINT alert_rules_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alert_silences
    ADD CONSTRAINT alert_silences_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_rule_id_fingerprint_key UNIQUE (rule_id, fingerprint);

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_digest_key UNIQUE (digest);

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.backup_directories
    ADD CONSTRAINT backup_directories_pkey PRIMARY KEY (directory, mark);

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.detection_resets
    ADD CONSTRAINT detection_resets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.detection_sources
    ADD CONSTRAINT detection_sources_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.detector_gaps
    ADD CONSTRAINT detector_gaps_pkey PRIMARY KEY (source, event, first_id);

ALTER TABLE ONLY public.detectors
    ADD CONSTRAINT detectors_pkey PRIMARY KEY (source, event);

ALTER TABLE ONLY public.downtime_dead_letters
    ADD CONSTRAINT downtime_dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.downtime_dead_letters
    ADD CONSTRAINT downtime_dead_letters_source_digest_key UNIQUE (source, digest);

ALTER TABLE ONLY public.drills
    ADD CONSTRAINT drills_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.event_deliveries
    ADD CONSTRAINT event_deliveries_pkey PRIMARY KEY (job_id, event_id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.flag_history
    ADD CONSTRAINT flag_history_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.flags
    ADD CONSTRAINT flags_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.integrity_reports
    ADD CONSTRAINT integrity_reports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_groups
    ADD CONSTRAINT job_groups_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.job_troubles
    ADD CONSTRAINT job_troubles_pkey PRIMARY KEY (job, recipient);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_name_key UNIQUE (name);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.late_results
    ADD CONSTRAINT late_results_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.live_messages
    ADD CONSTRAINT live_messages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.live_wanted
    ADD CONSTRAINT live_wanted_pkey PRIMARY KEY (topic);

ALTER TABLE ONLY public.login_links
    ADD CONSTRAINT login_links_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.module_credentials
    ADD CONSTRAINT module_credentials_pkey PRIMARY KEY (client_id);

ALTER TABLE ONLY public.modules
    ADD CONSTRAINT modules_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.non_runs
    ADD CONSTRAINT non_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_message_id_key UNIQUE (message_id);

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.object_checks
    ADD CONSTRAINT object_checks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.object_repositories
    ADD CONSTRAINT object_repositories_pkey PRIMARY KEY (location);

ALTER TABLE ONLY public.object_snapshots
    ADD CONSTRAINT object_snapshots_pkey PRIMARY KEY (repository, snapshot);

ALTER TABLE ONLY public.run_logs
    ADD CONSTRAINT run_logs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.scrub_inventories
    ADD CONSTRAINT scrub_inventories_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.scrub_inventories
    ADD CONSTRAINT scrub_inventories_store_key UNIQUE (store);

ALTER TABLE ONLY public.scrub_state
    ADD CONSTRAINT scrub_state_pkey PRIMARY KEY (inventory, storage_key);

ALTER TABLE ONLY public.selftests
    ADD CONSTRAINT selftests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.servers
    ADD CONSTRAINT servers_pkey PRIMARY KEY (instance);

ALTER TABLE ONLY public.setting_history
    ADD CONSTRAINT setting_history_pkey PRIMARY KEY (key, scope, version);

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (key, scope);

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_database_key UNIQUE (database);

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (slug);

ALTER TABLE ONLY public.windows
    ADD CONSTRAINT windows_pkey PRIMARY KEY (name);

CREATE INDEX alert_silences_ends ON public.alert_silences USING btree (ends_at);

CREATE INDEX alerts_active ON public.alerts USING btree (rule_id) WHERE (phase <> 'resolved'::text);

CREATE UNIQUE INDEX api_tokens_valid_name ON public.api_tokens USING btree (name) WHERE (revoked_at IS NULL);

CREATE INDEX detection_resets_of_source ON public.detection_resets USING btree (source, id DESC);

CREATE INDEX drills_by_kind ON public.drills USING btree (kind, id DESC);

CREATE INDEX event_deliveries_of_event ON public.event_deliveries USING btree (event_id);

CREATE INDEX events_of_name ON public.events USING btree (name, id DESC);

CREATE UNIQUE INDEX events_once ON public.events USING btree (source, message_id) WHERE (message_id IS NOT NULL);

CREATE INDEX events_stored ON public.events USING btree (stored_at);

CREATE INDEX events_waiting ON public.events USING btree (id) WHERE (state = 'waiting'::text);

CREATE INDEX flag_history_of_key ON public.flag_history USING btree (key, version);

CREATE INDEX integrity_reports_newest ON public.integrity_reports USING btree (kind, store, id);

CREATE INDEX jobs_due ON public.jobs USING btree (next_run_at) WHERE (enabled AND (next_run_at IS NOT NULL));

CREATE INDEX jobs_listening ON public.jobs USING btree (event) WHERE (event IS NOT NULL);

CREATE INDEX late_results_of_run ON public.late_results USING btree (run_id);

CREATE INDEX module_credentials_of_module ON public.module_credentials USING btree (module, created_at);

CREATE INDEX non_runs_of_job ON public.non_runs USING btree (job_id, scheduled_at DESC);

CREATE INDEX non_runs_recorded ON public.non_runs USING btree (recorded_at);

CREATE INDEX notifications_bundled ON public.notifications USING btree (bundled_into) WHERE (bundled_into IS NOT NULL);

CREATE INDEX notifications_ended ON public.notifications USING btree (updated_at) WHERE (status = ANY (ARRAY['sent'::text, 'failed'::text]));

CREATE INDEX notifications_grouped ON public.notifications USING btree (id) WHERE ((status = 'pending'::text) AND (bundled_into IS NULL) AND (group_key IS NOT NULL));

CREATE INDEX notifications_leased ON public.notifications USING btree (leased_until) WHERE ((status = 'sending'::text) AND (bundled_into IS NULL));

CREATE INDEX notifications_waiting ON public.notifications USING btree (id) WHERE ((status = 'pending'::text) AND (bundled_into IS NULL));

CREATE INDEX object_checks_of_repository ON public.object_checks USING btree (repository, id DESC);

CREATE INDEX run_logs_of_run ON public.run_logs USING btree (run_id, id);

CREATE UNIQUE INDEX run_logs_once ON public.run_logs USING btree (run_id, "position") WHERE ("position" IS NOT NULL);

CREATE INDEX runs_active ON public.runs USING btree (status, id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX runs_finished ON public.runs USING btree (finished_at);

CREATE INDEX runs_of_job ON public.runs USING btree (job_id, id DESC);

CREATE UNIQUE INDEX runs_one_per_attempt ON public.runs USING btree (correlation_id, attempt) WHERE (attempt > 1);

CREATE UNIQUE INDEX runs_one_per_occurrence ON public.runs USING btree (job_id, scheduled_at) WHERE (trigger_by = 'schedule'::text);

CREATE UNIQUE INDEX runs_one_running ON public.runs USING btree (job_id) WHERE ((status = 'running'::text) AND exclusive);

CREATE UNIQUE INDEX runs_one_waiting ON public.runs USING btree (job_id) WHERE ((status = 'queued'::text) AND exclusive);

CREATE INDEX runs_unsuccessful ON public.runs USING btree (status, id) WHERE (status = ANY (ARRAY['partial_failure'::text, 'failed'::text, 'cancelled'::text]));

CREATE INDEX runs_waiting ON public.runs USING btree (priority DESC, scheduled_at, id) WHERE ((status = 'queued'::text) AND (group_name IS NULL) AND (runs_on IS NULL));

CREATE INDEX runs_waiting_for_agents ON public.runs USING btree (kind, priority DESC, scheduled_at, id) WHERE ((status = 'queued'::text) AND (runs_on IS NOT NULL));

CREATE INDEX runs_waiting_in_group ON public.runs USING btree (group_name, priority DESC, scheduled_at, id) WHERE ((status = 'queued'::text) AND (group_name IS NOT NULL));

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES public.alert_rules(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_token_id_fkey FOREIGN KEY (token_id) REFERENCES public.api_tokens(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.detector_gaps
    ADD CONSTRAINT detector_gaps_source_event_fkey FOREIGN KEY (source, event) REFERENCES public.detectors(source, event) ON DELETE CASCADE;

ALTER TABLE ONLY public.detectors
    ADD CONSTRAINT detectors_source_fkey FOREIGN KEY (source) REFERENCES public.detection_sources(name) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_deliveries
    ADD CONSTRAINT event_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.events(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_deliveries
    ADD CONSTRAINT event_deliveries_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_group_name_fkey FOREIGN KEY (group_name) REFERENCES public.job_groups(name);

ALTER TABLE ONLY public.late_results
    ADD CONSTRAINT late_results_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.module_credentials
    ADD CONSTRAINT module_credentials_module_fkey FOREIGN KEY (module) REFERENCES public.modules(name) ON DELETE CASCADE;

ALTER TABLE ONLY public.non_runs
    ADD CONSTRAINT non_runs_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_bundled_into_fkey FOREIGN KEY (bundled_into) REFERENCES public.notifications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_logs
    ADD CONSTRAINT run_logs_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.scrub_state
    ADD CONSTRAINT scrub_state_inventory_fkey FOREIGN KEY (inventory) REFERENCES public.scrub_inventories(id) ON DELETE CASCADE;
