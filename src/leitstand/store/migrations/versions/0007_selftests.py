"""The history of self-tests of the checker."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    run_beside(__file__)
