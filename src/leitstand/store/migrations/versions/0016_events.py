"""The queue of events, and what jobs want of it."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the tables and the column."""
    run_beside(__file__)
