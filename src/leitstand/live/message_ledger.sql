-- name: take_turn
-- Ids are given when rows are written, and rows are seen when they are committed. Writers take
-- turns so that both come in one order: whoever has seen an id has seen all that are smaller.
SELECT pg_advisory_xact_lock(:lock);

-- name: append^
WITH added AS (
    INSERT INTO live_messages (topic, data)
    SELECT
        :topic,
        m.value
    FROM jsonb_array_elements(:messages) WITH ORDINALITY AS m
    ORDER BY m.ordinality
    RETURNING id
)

-- The number alone: a notification has room for 8000 bytes.
SELECT
    max(added.id) AS id,
    pg_notify('leitstand_live', max(added.id)::text) AS notified
FROM added;

-- name: after
SELECT * FROM live_messages
WHERE id > :after
ORDER BY id
LIMIT :max_rows;

-- name: after_on
SELECT * FROM live_messages
WHERE id > :after AND id <= :upto AND topic = ANY(:topics)
ORDER BY id
LIMIT :max_rows;

-- name: bounds^
-- The oldest and the newest id that there are; of an emptied table the last one that was given.
SELECT
    (SELECT min(m.id) FROM live_messages AS m) AS oldest,
    coalesce(
        (SELECT max(m.id) FROM live_messages AS m),
        (
            SELECT s.last_value FROM pg_sequences AS s
            WHERE s.sequencename = 'live_messages_id_seq' AND s.schemaname = current_schema()
        ),
        0
    ) AS newest;

-- name: want!
INSERT INTO live_wanted (topic, until)
SELECT
    unnest(:topics::text[]) AS topic,
    clock_timestamp() + make_interval(secs => :lifetime)
ORDER BY topic
ON CONFLICT (topic) DO UPDATE SET until = excluded.until;

-- name: is_wanted^
SELECT count(*) > 0 AS wanted FROM live_wanted
WHERE topic = :topic AND until > clock_timestamp();

-- name: prune!
DELETE FROM live_messages
WHERE
    id <= (SELECT max(m.id) FROM live_messages AS m) - :keep_count
    OR time < clock_timestamp() - make_interval(secs => :keep_seconds);
