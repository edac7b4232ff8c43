"""Alert rules, the state of what violates them, and silences."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the tables."""
    run_beside(__file__)
