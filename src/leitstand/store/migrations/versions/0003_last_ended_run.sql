-- What a job's last ended run came to: for the list of jobs, one job, and dependencies. PostgreSQL
-- inlines it into each statement, which then reads one entry of runs_of_job for each job.

CREATE FUNCTION last_ended_run(job bigint)
RETURNS TABLE (last_run_at timestamptz, last_outcome text)
LANGUAGE sql STABLE
AS $$
    SELECT r.started_at, r.status FROM runs AS r
    WHERE r.job_id = last_ended_run.job AND r.finished_at IS NOT NULL
    ORDER BY r.id DESC
    LIMIT 1
$$;

-- The jobs of self-protection are made whenever they are missing, so their first making is no
-- milestone any more, and there was no other.
-- squawk-ignore ban-drop-table
DROP TABLE milestones;
