"""Configuration values, global and by tenant, with their history."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the tables."""
    run_beside(__file__)
