"""Backup directories: that a disk is not mounted can be told from a new directory."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Create the table."""
    run_beside(__file__)
