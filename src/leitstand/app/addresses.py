"""Ways to the servers that the settings name: the control database's, and what is backed up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leitstand.address import check_conninfo
from leitstand.errors import NotFoundError
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


@asynccontextmanager
async def begun_control_address(settings: Settings) -> AsyncIterator[str]:
    """As ``control_server_address``; an embedded server is not begun for the sake of a look.

    Raises NotFoundError where there is none yet.
    """
    cluster = settings.server.data_dir / "postgres" / "cluster"
    if not settings.database.url.get_secret_value() and not _exists(cluster):
        raise NotFoundError(
            f"there is no database yet in {settings.server.data_dir}",
            remedy="leitstand serve makes it at its first start.",
        )
    async with control_server_address(settings) as conninfo:
        yield conninfo


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:  # it is there, for somebody else; the attempt will say so
        return True
