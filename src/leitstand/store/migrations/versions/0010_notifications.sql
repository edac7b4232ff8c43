-- The queue of notifications, and which jobs' troubles people have been told of.

CREATE TABLE notifications (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What receivers tell repetitions by: the same in every attempt.
    message_id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    channel text NOT NULL CHECK (channel <> ''),
    recipient text NOT NULL CHECK (recipient <> ''),
    payload jsonb NOT NULL DEFAULT '{}',
    -- What waits for the same recipient under the same key may be sent as one message.
    group_key text,
    -- The notification in whose message this one is told; it shares that one's fate.
    bundled_into bigint REFERENCES notifications (id) ON DELETE CASCADE,
    status text NOT NULL DEFAULT 'pending' CHECK (
        status IN ('pending', 'sending', 'sent', 'failed')
    ),
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL CHECK (max_attempts > 0),
    -- Grows with every claim, also after an operator's retry; older results change nothing.
    lease bigint NOT NULL DEFAULT 0,
    leased_until timestamptz,
    -- An attempt ended with its worker, so the message may have gone out.
    in_doubt boolean NOT NULL DEFAULT false,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX notifications_waiting ON notifications (id)
WHERE status = 'pending' AND bundled_into IS NULL;

-- For every claim asks for these, and most queues have none.
CREATE INDEX notifications_grouped ON notifications (id)
WHERE status = 'pending' AND bundled_into IS NULL AND group_key IS NOT NULL;

CREATE INDEX notifications_leased ON notifications (leased_until)
WHERE status = 'sending' AND bundled_into IS NULL;

CREATE INDEX notifications_bundled ON notifications (bundled_into)
WHERE bundled_into IS NOT NULL;

CREATE INDEX notifications_ended ON notifications (updated_at)
WHERE status IN ('sent', 'failed');

-- Whom we told that a job is in trouble; who is listed here is told when it is over.
CREATE TABLE job_troubles (
    job text NOT NULL,
    recipient text NOT NULL,
    status text NOT NULL,
    run_id bigint NOT NULL,
    -- Until then the same trouble is not told again.
    quiet_until timestamptz NOT NULL,
    PRIMARY KEY (job, recipient)
);
