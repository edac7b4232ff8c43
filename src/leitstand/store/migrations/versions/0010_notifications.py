"""The queue of notifications, and which jobs' troubles people have been told of."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the tables."""
    run_beside(__file__)
