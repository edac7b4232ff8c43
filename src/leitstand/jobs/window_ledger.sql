-- name: save_window!
INSERT INTO windows (
    name, days, from_clock, to_clock, timezone, from_moment, to_moment, jobs, tags, hosts, reason,
    managed
) VALUES (
    :name, :days, :from_clock, :to_clock, :timezone, :from_moment, :to_moment, :jobs, :tags,
    :hosts, :reason, :managed
)
ON CONFLICT (name) DO UPDATE SET
    days = excluded.days,
    from_clock = excluded.from_clock,
    to_clock = excluded.to_clock,
    timezone = excluded.timezone,
    from_moment = excluded.from_moment,
    to_moment = excluded.to_moment,
    jobs = excluded.jobs,
    tags = excluded.tags,
    hosts = excluded.hosts,
    reason = excluded.reason,
    managed = excluded.managed,
    updated_at = clock_timestamp();

-- name: list_windows
SELECT * FROM windows ORDER BY name;

-- name: delete_window^
DELETE FROM windows WHERE name = :name
RETURNING name;
