-- name: create#
CREATE SCHEMA leitstand_demo;

CREATE TABLE leitstand_demo.file_revisions (
    id bigint PRIMARY KEY,
    document_id bigint NOT NULL,
    storage_key text COLLATE "C" NOT NULL UNIQUE,
    checksum_sha256 text NOT NULL
);

-- name: insert!
INSERT INTO leitstand_demo.file_revisions (id, document_id, storage_key, checksum_sha256)
VALUES (:id, :document_id, :storage_key, :checksum);

-- name: drop#
DROP SCHEMA IF EXISTS leitstand_demo CASCADE;
