-- name: register^
INSERT INTO modules (name, version, required_flags)
VALUES (:name, :version, :required_flags)
ON CONFLICT (name) DO UPDATE SET
    version = excluded.version,
    required_flags = excluded.required_flags,
    updated_at = now()
RETURNING *;

-- name: list_modules
SELECT * FROM modules ORDER BY name;

-- name: take_turns!
-- Who registers must see all that are registered; readers are not held up.
LOCK TABLE modules IN SHARE ROW EXCLUSIVE MODE;

-- name: set_source^
UPDATE modules SET metrics_url = :metrics_url, updated_at = now()
WHERE name = :name
RETURNING *;

-- name: delete^
-- Its credentials go with it.
DELETE FROM modules WHERE name = :name RETURNING name;

-- name: find^
SELECT * FROM modules WHERE name = :name;

-- name: lock_module^
SELECT name FROM modules WHERE name = :name FOR NO KEY UPDATE;
