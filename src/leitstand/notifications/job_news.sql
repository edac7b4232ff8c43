-- name: trouble
-- Remember trouble; only what is new, or was told long enough ago, comes back.
INSERT INTO job_troubles AS t (job, recipient, status, run_id, quiet_until)
SELECT
    n.job,
    n.recipient,
    n.status,
    n.run_id,
    clock_timestamp() + make_interval(secs => n.repeat)
FROM json_to_recordset(:news) AS n (
    job text, recipient text, status text, run_id bigint, repeat double precision
)
ORDER BY n.job, n.recipient
ON CONFLICT (job, recipient) DO UPDATE SET
    status = excluded.status,
    run_id = excluded.run_id,
    quiet_until = excluded.quiet_until
WHERE t.status <> excluded.status OR t.quiet_until <= clock_timestamp()
RETURNING t.job, t.recipient;

-- name: over
-- Who was told of trouble, once: the rows are gone with this.
DELETE FROM job_troubles
WHERE job = ANY(:jobs::text[])
RETURNING job, recipient, status;
