-- name: seen_at^
SELECT repository FROM object_repositories WHERE location = :location;

-- name: remember!
INSERT INTO object_repositories (location, repository) VALUES (:location, :repository)
ON CONFLICT (location) DO NOTHING;

-- name: forget!
DELETE FROM object_repositories WHERE location = :location;

-- name: record_snapshot!
INSERT INTO object_snapshots (
    repository, snapshot, taken_at, complete, files, bytes, sources, filled, problems
) VALUES (
    :repository, :snapshot, :taken_at, :complete, :files, :bytes, :sources, :filled, :problems
)
ON CONFLICT (repository, snapshot) DO NOTHING;

-- name: snapshots
SELECT * FROM object_snapshots
WHERE repository = :repository AND removed_at IS NULL
ORDER BY taken_at, snapshot;

-- name: removed!
UPDATE object_snapshots SET removed_at = clock_timestamp()
WHERE repository = :repository AND snapshot = any(:snapshots);

-- name: record_check!
INSERT INTO object_checks (repository, started_at, slice, slices, ok, findings)
VALUES (:repository, :started_at, :slice, :slices, :ok, :findings);

-- name: checks
SELECT * FROM object_checks
WHERE repository = :repository
ORDER BY id DESC
LIMIT :max_rows;
