"""API tokens, login links and the sessions of browsers."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create their tables."""
    run_beside(__file__)
