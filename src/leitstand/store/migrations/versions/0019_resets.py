"""Who began log tables anew, and why; late and dead rows by detector."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the table and the columns."""
    run_beside(__file__)
