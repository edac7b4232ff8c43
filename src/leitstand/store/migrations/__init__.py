"""The history of the control database's schema, run by Alembic, written in SQL."""
