-- name: begin^
-- The source's state, made when it is not there yet.
INSERT INTO detection_sources AS s (name, identity) VALUES (:name, :identity)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING
    s.*,
    clock_timestamp() AS now,
    extract(EPOCH FROM clock_timestamp() - s.last_run_at)::double precision AS age;

-- name: take_turn^
SELECT pg_try_advisory_lock(:lock, hashtext(:name)) AS taken;

-- name: give_turn_up^
SELECT pg_advisory_unlock(:lock, hashtext(:name)) AS released;

-- name: detectors_of
SELECT event, checkpoint FROM detectors WHERE source = :source;

-- name: gaps_of
SELECT event, first_id, last_id, seen_at, holders FROM detector_gaps
WHERE source = :source
ORDER BY event, first_id;

-- name: save_source^
-- Only if nobody else has saved since the state was read.
UPDATE detection_sources
SET
    identity = :identity,
    epoch = :epoch,
    version = version + 1,
    state = 'watched',
    problem = NULL,
    highest = :highest,
    id_limit = :id_limit,
    warned = :warned,
    prints = :prints,
    last_run_at = clock_timestamp(),
    last_read_at = clock_timestamp(),
    clock_skew = :clock_skew,
    resets = resets + :resets,
    late_rows = late_rows + :late,
    dead_ids = dead_ids + :dead
WHERE name = :name AND version = :version
RETURNING version;

-- name: save_detectors!
INSERT INTO detectors (source, event, checkpoint, emitted, late_rows, dead_ids)
SELECT
    :source,
    d.event,
    d.checkpoint,
    d.emitted,
    d.late_rows,
    d.dead_ids
FROM jsonb_to_recordset(:detectors) AS d (
    event text, checkpoint bigint, emitted bigint, late_rows bigint, dead_ids bigint
)
ON CONFLICT (source, event) DO UPDATE SET
    checkpoint = excluded.checkpoint,
    emitted = detectors.emitted + excluded.emitted,
    late_rows = detectors.late_rows + excluded.late_rows,
    dead_ids = detectors.dead_ids + excluded.dead_ids;

-- name: drop_gaps!
DELETE FROM detector_gaps AS g
USING jsonb_to_recordset(:gaps) AS d (event text, first_id bigint)
WHERE g.source = :source AND g.event = d.event AND g.first_id = d.first_id;

-- name: add_gaps!
INSERT INTO detector_gaps (source, event, first_id, last_id, seen_at, holders)
SELECT
    :source,
    g.event,
    g.first_id,
    g.last_id,
    g.seen_at,
    g.holders
FROM jsonb_to_recordset(:gaps) AS g (
    event text, first_id bigint, last_id bigint, seen_at timestamptz, holders text[]
);

-- name: forget_detectors!
DELETE FROM detectors WHERE source = :source;

-- name: note_trouble!
UPDATE detection_sources
SET state = :state, problem = :problem, last_run_at = clock_timestamp()
WHERE name = :name;

-- name: reset_source^
-- The next run takes a new baseline, at once.
UPDATE detection_sources
SET
    epoch = epoch + 1,
    version = version + 1,
    state = 'new',
    problem = NULL,
    highest = NULL,
    id_limit = NULL,
    warned = FALSE,
    prints = '{}',
    last_run_at = NULL,
    resets = resets + 1
WHERE name = :name
RETURNING epoch;

-- name: note_reset!
INSERT INTO detection_resets (source, epoch, reason, reset_by)
VALUES (:source, :epoch, :reason, :reset_by);

-- name: resets_of
SELECT * FROM detection_resets
WHERE source = :source
ORDER BY id DESC
LIMIT :max_rows;

-- name: status
SELECT
    s.*,
    extract(EPOCH FROM clock_timestamp() - s.last_read_at)::double precision AS read_age,
    coalesce(d.detectors, '[]') AS detectors
FROM detection_sources AS s
LEFT JOIN LATERAL (
    SELECT
        jsonb_agg(
            jsonb_build_object(
                'event',
                e.event,
                'checkpoint',
                e.checkpoint,
                'behind',
                greatest(s.highest - e.checkpoint, 0),
                'emitted',
                e.emitted,
                'late_rows',
                e.late_rows,
                'dead_ids',
                e.dead_ids,
                'open_gaps',
                (
                    SELECT coalesce(sum(g.last_id - g.first_id + 1), 0) FROM detector_gaps AS g
                    WHERE g.source = e.source AND g.event = e.event
                )
            ) ORDER BY e.event
        ) AS detectors
    FROM detectors AS e
    WHERE e.source = s.name
) AS d ON TRUE
ORDER BY s.name;
