"""Feature flags."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the table."""
    run_beside(__file__)
