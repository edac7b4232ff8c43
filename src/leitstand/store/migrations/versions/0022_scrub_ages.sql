-- squawk-ignore require-concurrent-index-deletion
DROP INDEX scrub_state_by_age;
