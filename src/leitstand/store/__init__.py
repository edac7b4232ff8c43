"""PostgreSQL: the embedded server, the pool, migrations, notifications. It runs SQL, no more."""
