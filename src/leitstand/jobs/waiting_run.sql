-- name: lock_waiting^
-- The run of the job that waits, locked so that nobody starts it meanwhile.
SELECT id, event FROM runs
WHERE job_id = :job_id AND status = 'queued'
ORDER BY id
LIMIT 1
FOR UPDATE;

-- name: set_event!
UPDATE runs SET event = :event WHERE id = :id;
