"""A PostgreSQL server for a campaign that runs for itself, gone afterwards with all its files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from leitstand.store.schema import upgrade
from tests.conftest import TEMPLATE, Postgres, make_short_dir, start_postgres


@contextmanager
def campaign_server() -> Iterator[tuple[Postgres, str]]:
    """The server, and the way to a control database on it with its schema."""
    directory = make_short_dir(on_disk=True)
    try:
        postgres = start_postgres(directory)
        try:
            postgres.create_database(TEMPLATE)
            conninfo = postgres.conninfo(TEMPLATE)
            upgrade(conninfo)
            yield postgres, conninfo
        finally:
            postgres.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
