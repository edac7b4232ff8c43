"""Messages of a monitoring core that could not be used."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the table."""
    run_beside(__file__)
