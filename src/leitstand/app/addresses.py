"""Ways to the servers that the settings name: the control database's, and what is backed up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leitstand.address import check_conninfo
from leitstand.settings import Settings
from leitstand.store.embedded import EmbeddedServer


@asynccontextmanager
async def backup_source(settings: Settings) -> AsyncIterator[str]:
    """The connection string of the server that backups are taken from."""
    url = settings.backup.postgres.url.get_secret_value()
    if url:
        yield url
        return
    async with control_server_address(settings) as conninfo:
        yield conninfo


@asynccontextmanager
async def control_server_address(settings: Settings) -> AsyncIterator[str]:
    """The control database's connection string; the embedded server is up meanwhile."""
    url = settings.database.url.get_secret_value()
    if url:
        check_conninfo("database.url", url)
        yield url
        return
    async with EmbeddedServer(settings.server.data_dir) as embedded:
        yield embedded.conninfo
