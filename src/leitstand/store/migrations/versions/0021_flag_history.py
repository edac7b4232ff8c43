"""Versions of feature flags: who changed what, and on which version."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the history, and versions to flags."""
    run_beside(__file__)
