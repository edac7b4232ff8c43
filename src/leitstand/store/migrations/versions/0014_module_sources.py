"""Where modules show their metrics."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column."""
    run_beside(__file__)
