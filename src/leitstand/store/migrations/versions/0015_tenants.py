"""Tenants, each with a database of its own."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the table."""
    run_beside(__file__)
