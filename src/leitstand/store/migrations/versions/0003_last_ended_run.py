"""One place that knows what a job's last ended run came to; and a table that nobody needs."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the function, drop the table."""
    run_beside(__file__)
