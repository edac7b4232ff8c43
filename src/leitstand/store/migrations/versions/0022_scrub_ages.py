"""Times of scrubs without an index: nothing looks for few of them, and each mark paid for it."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Drop the index."""
    run_beside(__file__)
