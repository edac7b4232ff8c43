-- The directories into which backups of PostgreSQL were taken, each by the mark that lies in it.

CREATE TABLE backup_directories (
    directory text NOT NULL,
    mark text NOT NULL,
    generation text NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (directory, mark)
);
