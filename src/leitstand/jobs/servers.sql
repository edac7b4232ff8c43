-- name: register!
INSERT INTO servers (instance, host, pid, version, max_concurrent_runs, draining)
VALUES (:instance, :host, :pid, :version, :max_concurrent_runs, :draining);

-- name: deregister!
DELETE FROM servers WHERE instance = :instance;

-- name: list_servers
SELECT
    s.*,
    extract(EPOCH FROM clock_timestamp() - s.heartbeat_at)::double precision AS silent_for,
    (SELECT count(*) FROM runs AS r WHERE r.owner = s.instance AND r.status = 'running') AS running
FROM servers AS s
ORDER BY s.started_at;

-- name: drain^
WITH asked AS (
    UPDATE servers SET draining = TRUE WHERE instance = :instance RETURNING instance
)

SELECT
    asked.instance,
    pg_notify('leitstand_jobs', 'drain:' || asked.instance) AS notified
FROM asked;

-- name: forget_dead!
-- Servers that have been silent for long and hold nothing any more.
DELETE FROM servers AS s
WHERE
    s.heartbeat_at < clock_timestamp() - make_interval(secs => :silent)
    AND NOT EXISTS (
        SELECT 1 FROM runs AS r WHERE r.owner = s.instance AND r.status = 'running'
    );
