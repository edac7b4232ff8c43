"""Runs the SQL file beside a migration, so that migrations are SQL and nothing else."""

from pathlib import Path

from alembic import op


def run_beside(migration: str) -> None:
    """Execute ``NNNN_name.sql`` next to the migration whose ``__file__`` is given.

    The driver gets the file as it stands: no placeholder or colon in it has a meaning.
    """
    statement = Path(migration).with_suffix(".sql").read_text(encoding="utf-8")
    connection = op.get_bind().connection.driver_connection
    assert connection is not None  # noqa: S101 -- offline mode, which has none, is not offered
    connection.execute(statement)
