-- name: record!
INSERT INTO integrity_reports (kind, store, clean, incomplete, facts)
VALUES (:kind, :store, :clean, :incomplete, :facts);

-- name: latest
SELECT DISTINCT ON (store) * FROM integrity_reports WHERE kind = :kind ORDER BY store, id DESC;

-- name: remove!
DELETE FROM integrity_reports WHERE store = :store;
