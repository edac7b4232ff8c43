ALTER TABLE runs ADD COLUMN failures_before integer DEFAULT 0 NOT NULL;

UPDATE runs SET failures_before = attempt - 1
WHERE status IN ('queued', 'running') AND attempt > 1;
