"""Room for updates in the state of scrubs: a mark costs half."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Leave half of each page free."""
    run_beside(__file__)
