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

-- name: lock_module^
SELECT name FROM modules WHERE name = :name FOR NO KEY UPDATE;
