"""Modules and their credentials, the agents that use them, and the runs that wait for an agent."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables, the columns and the indexes."""
    run_beside(__file__)
