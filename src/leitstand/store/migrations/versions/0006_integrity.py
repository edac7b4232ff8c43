"""Which objects were read when, and what reconciling and scrubbing found."""

from leitstand.store.migrations.sql_file import run_beside

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the tables."""
    run_beside(__file__)
