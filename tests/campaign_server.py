"""A PostgreSQL server for a campaign that runs for itself, gone afterwards with all its files."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import TEMPLATE, Postgres, postgres_with_schema, temporary_short_dir


@contextmanager
def campaign_server() -> Iterator[tuple[Postgres, str]]:
    """The server, and the way to a control database on it with its schema."""
    with (
        temporary_short_dir(on_disk=True) as directory,
        postgres_with_schema(directory) as postgres,
    ):
        yield postgres, postgres.conninfo(TEMPLATE)
