"""How many attempts before a run have failed: its retry budget is theirs, not its number."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the column; what is queued or running has the budget that it had."""
    run_beside(__file__)
