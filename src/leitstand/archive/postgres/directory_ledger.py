"""The ledger of backup directories: the only code that touches the table ``backup_directories``.

It lies in the control database and not beside the backups on purpose: what must be noticed is that
they are not there any more.
"""

from pathlib import Path

from leitstand.archive.postgres.directory_mark import KnownMark
from leitstand.store.database import Database, load_queries

queries = load_queries(__file__)


class DirectoryLedger:
    """The directories that were seen at a path, by their marks: disks that take turns are some."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(self, directory: Path) -> list[KnownMark]:
        """Those that were at ``directory``, the last one used first."""
        async with self._database.connection() as connection:
            rows = queries.known(connection, directory=str(directory))
            return [KnownMark(row["mark"], row["generation"]) async for row in rows]

    async def remember(self, directory: Path, mark: str, generation: str) -> None:
        """A backup of ``generation`` was taken into ``directory``."""
        async with self._database.connection() as connection:
            await queries.remember(
                connection, directory=str(directory), mark=mark, generation=generation
            )
