"""Maintenance windows, and which occurrence of a job waits for one to end."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the table and the column."""
    run_beside(__file__)
