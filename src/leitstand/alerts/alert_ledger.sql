-- name: now^
SELECT clock_timestamp() AS now;

-- name: of_rules
SELECT
    rule_id,
    fingerprint,
    version,
    phase,
    since,
    told_at,
    told,
    missing_since,
    acknowledged_at,
    acknowledged_by
FROM alerts
WHERE rule_id = ANY(:rules::bigint[]);

-- name: labels_of
SELECT
    rule_id,
    fingerprint,
    labels
FROM alerts
WHERE rule_id = ANY(:rules::bigint[]) AND fingerprint = ANY(:fingerprints::text[]);

-- name: active
SELECT
    a.*,
    r.name AS rule
FROM alerts AS a
INNER JOIN alert_rules AS r ON a.rule_id = r.id
WHERE a.phase <> 'resolved'
ORDER BY r.name, a.since, a.id;

-- name: list_page
SELECT
    a.*,
    r.name AS rule
FROM alerts AS a
INNER JOIN alert_rules AS r ON a.rule_id = r.id
WHERE
    a.phase = ANY(:phases::text[])
    AND (:rule::text IS NULL OR r.name = :rule OR r.id::text = :rule)
    AND a.labels @> :labels
    AND (:before::bigint IS NULL OR a.id < :before)
ORDER BY a.id DESC
LIMIT :max_rows;

-- name: get^
SELECT
    a.*,
    r.name AS rule
FROM alerts AS a
INNER JOIN alert_rules AS r ON a.rule_id = r.id
WHERE a.id = :id;

-- name: advance
-- Write what was decided, for each series by whoever comes first: the version says on which state a
-- decision was made. All evaluators write in the same order, so that none waits for another in a
-- circle.
INSERT INTO alerts AS a (
    rule_id, fingerprint, labels, version, phase, value, since, told_at, told, missing_since,
    acknowledged_at, acknowledged_by
)
SELECT
    d.rule_id,
    d.fingerprint,
    d.labels,
    d.version,
    d.phase,
    d.value,
    d.since,
    d.told_at,
    d.told,
    d.missing_since,
    d.acknowledged_at,
    d.acknowledged_by
FROM json_to_recordset(:decisions) AS d (
    rule_id bigint,
    fingerprint text,
    labels jsonb,
    version bigint,
    phase text,
    value double precision,
    since timestamptz,
    told_at timestamptz,
    told uuid[],
    missing_since timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by text
)
INNER JOIN alert_rules AS r ON d.rule_id = r.id
ORDER BY d.rule_id, d.fingerprint
ON CONFLICT (rule_id, fingerprint) DO UPDATE SET
    version = excluded.version,
    phase = excluded.phase,
    value = excluded.value,
    since = excluded.since,
    told_at = excluded.told_at,
    told = excluded.told,
    missing_since = excluded.missing_since,
    acknowledged_at = excluded.acknowledged_at,
    acknowledged_by = excluded.acknowledged_by,
    updated_at = clock_timestamp()
WHERE a.version = excluded.version - 1
RETURNING a.rule_id, a.fingerprint;

-- name: acknowledge^
UPDATE alerts
SET
    acknowledged_at = clock_timestamp(),
    acknowledged_by = :who,
    version = version + 1
WHERE id = :id AND phase = 'firing'
RETURNING id;

-- name: counts
SELECT
    a.phase,
    count(*) AS alerts
FROM alerts AS a
WHERE a.phase <> 'resolved'
GROUP BY a.phase;

-- name: prune^
WITH gone AS (
    DELETE FROM alerts
    WHERE id IN (
        SELECT o.id FROM alerts AS o
        WHERE
            o.phase = 'resolved'
            AND o.updated_at < clock_timestamp() - make_interval(secs => :older_than)
        ORDER BY o.id
        LIMIT :batch
    )
    RETURNING 1
)

SELECT count(*) AS gone FROM gone;
