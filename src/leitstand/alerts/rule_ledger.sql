-- name: save_rule^
INSERT INTO alert_rules (
    name, metric_name, comparison, threshold, clear_threshold, absent, label_filters, recipient,
    description, hold_seconds, debounce_seconds, repeat_seconds, group_key, enabled, managed
) VALUES (
    :name, :metric_name, :comparison, :threshold, :clear_threshold, :absent, :label_filters,
    :recipient, :description, :hold, :debounce, :repeat, :group_key, :enabled, :managed
)
ON CONFLICT (name) DO UPDATE SET
    metric_name = excluded.metric_name,
    comparison = excluded.comparison,
    threshold = excluded.threshold,
    clear_threshold = excluded.clear_threshold,
    absent = excluded.absent,
    label_filters = excluded.label_filters,
    recipient = excluded.recipient,
    description = excluded.description,
    hold_seconds = excluded.hold_seconds,
    debounce_seconds = excluded.debounce_seconds,
    repeat_seconds = excluded.repeat_seconds,
    group_key = excluded.group_key,
    enabled = excluded.enabled,
    managed = excluded.managed,
    updated_at = clock_timestamp()
RETURNING *;

-- name: list_rules
SELECT * FROM alert_rules ORDER BY name;

-- name: get_rule^
-- A name may be a number: then it counts before an id.
SELECT * FROM alert_rules
WHERE name = :name OR id::text = :name
ORDER BY name = :name DESC
LIMIT 1;

-- name: enable_rule^
UPDATE alert_rules SET enabled = :enabled, updated_at = clock_timestamp()
WHERE id = (
    SELECT r.id FROM alert_rules AS r
    WHERE r.name = :name OR r.id::text = :name
    ORDER BY r.name = :name DESC
    LIMIT 1
)
RETURNING *;

-- name: delete_rule^
DELETE FROM alert_rules
WHERE id = (
    SELECT r.id FROM alert_rules AS r
    WHERE r.name = :name OR r.id::text = :name
    ORDER BY r.name = :name DESC
    LIMIT 1
)
RETURNING name;
