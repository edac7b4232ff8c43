"""How far the detectors of log tables have read."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the tables."""
    run_beside(__file__)
