-- name: known
SELECT
    mark,
    generation
FROM backup_directories
WHERE directory = :directory
ORDER BY last_used_at DESC;

-- name: remember!
INSERT INTO backup_directories (directory, mark, generation)
VALUES (:directory, :mark, :generation)
ON CONFLICT (directory, mark) DO UPDATE
    SET generation = excluded.generation, last_used_at = clock_timestamp();
