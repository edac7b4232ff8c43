-- name: begin^
INSERT INTO tenants (slug, name, database, reference, status)
VALUES (:slug, :name, :database, :reference, 'provisioning')
ON CONFLICT DO NOTHING
RETURNING *;

-- name: activate^
UPDATE tenants SET status = 'active'
WHERE slug = :slug AND mark = :mark AND status = 'provisioning'
RETURNING *;

-- name: fail_cleanup!
UPDATE tenants SET status = 'failed_cleanup' WHERE slug = :slug AND mark = :mark;

-- name: mark_deleting^
-- Who asks again waits no longer than the first one.
UPDATE tenants SET
    status = 'deleting',
    drop_at = coalesce(drop_at, clock_timestamp() + make_interval(secs => :wait))
WHERE slug = :slug AND status IN ('active', 'deleting')
RETURNING *;

-- name: left_to_wait^
SELECT greatest(0, extract(EPOCH FROM drop_at - clock_timestamp()))::float AS seconds
FROM tenants
WHERE slug = :slug AND mark = :mark;

-- name: remove^
DELETE FROM tenants WHERE slug = :slug AND mark = :mark AND status <> 'active'
RETURNING slug;

-- name: find^
SELECT * FROM tenants WHERE slug = :slug;

-- name: list_tenants
SELECT * FROM tenants ORDER BY slug;

-- name: list_unfinished
SELECT * FROM tenants WHERE status <> 'active' ORDER BY slug;
