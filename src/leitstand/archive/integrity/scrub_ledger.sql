-- name: inventory^
WITH made AS (
    INSERT INTO scrub_inventories (store) VALUES (:store) ON CONFLICT DO NOTHING RETURNING id
)

SELECT id FROM made
UNION ALL
SELECT id FROM scrub_inventories WHERE store = :store
LIMIT 1;

-- name: now^
SELECT clock_timestamp() AS now;

-- name: state^
-- As words, too: a row for each takes the receiver three times as long.
SELECT
    string_agg(encode(storage_key, 'hex'), ' ') AS keys,
    string_agg(extract(EPOCH FROM checked_at)::text, ' ') AS times
FROM scrub_state
WHERE
    inventory = :inventory
    AND (:after::bytea IS NULL OR storage_key > :after)
    AND (:upto::bytea IS NULL OR storage_key <= :upto);

-- name: forget!
DELETE FROM scrub_state WHERE inventory = :inventory AND storage_key = any(:keys::bytea[]);

-- name: today^
SELECT
    count(*) AS objects,
    coalesce(sum(size), 0)::bigint AS bytes
FROM scrub_state
WHERE inventory = :inventory AND checked_at > :since AND result <> 'missing';

-- name: mark^
-- What is to be noted comes as words with spaces between them: an array would be made of its
-- thousands of elements one by one, which takes the sender longer than the server's part.
WITH marked AS (
    INSERT INTO scrub_state AS known (inventory, storage_key, checked_at, result, size)
    SELECT
        :inventory,
        given.storage_key::bytea,
        clock_timestamp(),
        given.result,
        given.size::bigint
    FROM unnest(
        string_to_array(:keys, ' '), string_to_array(:results, ' '), string_to_array(:sizes, ' ')
    ) AS given (storage_key, result, size)
    ON CONFLICT (inventory, storage_key) DO UPDATE
        SET checked_at = excluded.checked_at, result = excluded.result, size = excluded.size
        WHERE known.checked_at < :sampled_at
    RETURNING known.result
),

counted AS (
    UPDATE scrub_inventories
    SET failures = failures + (SELECT count(*) FROM marked WHERE result = 'failed')
    WHERE id = :inventory AND EXISTS (SELECT FROM marked WHERE result = 'failed')
)

SELECT count(*) AS marks FROM marked;

-- name: coverage^
SELECT
    count(*) FILTER (WHERE checked_at > :since AND result <> 'missing') AS recently,
    count(*) FILTER (WHERE result <> 'missing') AS ever,
    min(checked_at) FILTER (WHERE result <> 'missing') AS oldest
FROM scrub_state
WHERE inventory = :inventory;

-- name: failed
SELECT
    storage_key,
    checked_at,
    count(*) OVER () AS failed
FROM scrub_state
WHERE inventory = :inventory AND result = 'failed'
ORDER BY storage_key
LIMIT :max_rows;

-- name: failure_counts
SELECT
    store,
    failures
FROM scrub_inventories
ORDER BY store;

-- name: remove!
DELETE FROM scrub_inventories WHERE store = :store;
