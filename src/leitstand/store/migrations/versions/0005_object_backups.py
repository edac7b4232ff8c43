"""What Leitstand knows of its object repositories, apart from what lies in them."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables."""
    run_beside(__file__)
