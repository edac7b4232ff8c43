"""Messages to whoever listens."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create their tables."""
    run_beside(__file__)
