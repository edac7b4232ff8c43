"""Where the table of revisions is: a database, and the table's name in it."""

from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncEngine

from leitstand.foreign_database import ForeignDatabase


@dataclass(frozen=True)
class RevisionAddress:
    """A database and the table in it (``file_revisions``, or with a schema before it)."""

    url: str = field(repr=False)
    table: str = "file_revisions"

    @property
    def table_parts(self) -> tuple[str | None, str]:
        """The schema, if one is named, and the table's own name."""
        schema, _, name = self.table.rpartition(".")
        return schema or None, name

    def engine(self) -> AsyncEngine:
        """A way to the database; raises UsageError, without repeating the URL."""
        return self._database.engine()

    def said(self, error: BaseException) -> str:
        """What a driver said, without passwords."""
        return self._database.said(error)

    def is_refusing(self, error: BaseException) -> bool:
        """Whether the server answered that it lets us in by no means, or not now."""
        return self._database.is_refusing(error)

    @property
    def _database(self) -> ForeignDatabase:
        return ForeignDatabase(self.url, "objects.database_url")
