"""Jobs, runs, servers and drills: the first schema."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything from nothing."""
    run_beside(__file__)
