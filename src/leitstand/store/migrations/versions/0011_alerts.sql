-- Alert rules, the state of what violates them, and silences.

CREATE TABLE alert_rules (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    metric_name text NOT NULL CHECK (metric_name <> ''),
    -- A rule about absence has neither.
    comparison text CHECK (comparison IN ('gt', 'lt')),
    threshold double precision CHECK (threshold <> 'NaN'),
    clear_threshold double precision CHECK (clear_threshold <> 'NaN'),
    absent boolean NOT NULL DEFAULT false,
    label_filters jsonb NOT NULL DEFAULT '{}',
    recipient text NOT NULL CHECK (recipient <> ''),
    description text NOT NULL DEFAULT '',
    hold_seconds double precision NOT NULL DEFAULT 0 CHECK (hold_seconds >= 0),
    debounce_seconds double precision NOT NULL DEFAULT 900 CHECK (debounce_seconds >= 0),
    repeat_seconds double precision CHECK (repeat_seconds > 0),
    group_key text,
    enabled boolean NOT NULL DEFAULT true,
    managed boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (absent = (num_nonnulls(comparison, threshold) = 0)),
    CHECK (num_nonnulls(comparison, threshold) IN (0, 2))
);

-- One row for each series of a rule that has ever violated it.
CREATE TABLE alerts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule_id bigint NOT NULL REFERENCES alert_rules (id) ON DELETE CASCADE,
    fingerprint text NOT NULL,
    labels jsonb NOT NULL,
    -- Grows with every change: whoever decided on an older one has lost.
    version bigint NOT NULL,
    phase text NOT NULL CHECK (phase IN ('pending', 'firing', 'resolved')),
    value double precision,
    since timestamptz NOT NULL,
    told_at timestamptz,
    -- The message ids by which people were told of what is firing now.
    told uuid[] NOT NULL DEFAULT '{}',
    missing_since timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by text,
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (rule_id, fingerprint)
);

CREATE INDEX alerts_active ON alerts (rule_id) WHERE phase <> 'resolved';

CREATE TABLE alert_silences (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule text,
    matchers jsonb NOT NULL DEFAULT '{}',
    starts_at timestamptz NOT NULL DEFAULT now(),
    ends_at timestamptz NOT NULL,
    reason text NOT NULL DEFAULT '',
    created_by text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (starts_at < ends_at),
    -- One that concerns everything would be forgotten and missed most.
    CHECK (rule IS NOT NULL OR matchers <> '{}')
);

CREATE INDEX alert_silences_ends ON alert_silences (ends_at);
