"""Silences that hold at some times of the week only."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the column."""
    run_beside(__file__)
