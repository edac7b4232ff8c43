"""A small application with documents: rows in PostgreSQL, objects in a directory."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import psycopg

from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.reconcile import ReconcileOptions, reconcile
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.revision_address import RevisionAddress
from leitstand.archive.integrity.revision_table import RevisionTable

AT_ONCE = ReconcileOptions(grace=0)


def digest(content: bytes) -> str:
    """What the application records."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Documents:
    """Rows and objects of one application."""

    conninfo: str
    root: Path

    def create_table(self, key_type: str = "text") -> None:
        """Make the table anew."""
        self.execute(
            "DROP TABLE IF EXISTS file_revisions; CREATE TABLE file_revisions ("
            f"id bigint PRIMARY KEY, document_id bigint, storage_key {key_type},"
            " checksum_sha256 text)"
        )

    def execute(self, statement: str) -> None:
        """Run SQL."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(statement.encode())

    def add(self, key: str, content: bytes = b"content") -> None:
        """A revision with its object, as all should be."""
        self.put(key.encode(), content)
        self.insert(key, content)

    def insert(
        self, key: str | bytes, content: bytes = b"content", number: int | None = None
    ) -> None:
        """A row alone; its number is one more than the greatest, its document half of that."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO file_revisions SELECT n, n / 2, %(key)s, %(sum)s FROM (SELECT"
                " coalesce(%(number)s, (SELECT coalesce(max(id), 0) + 1 FROM file_revisions))"
                " AS n) AS numbered",
                {"key": key, "sum": digest(content), "number": number},
            )

    def put(self, key: bytes, content: bytes = b"content") -> None:
        """An object alone."""
        path = os.path.join(os.fsencode(self.root), key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def remove(self, key: bytes) -> None:
        """Take the object away."""
        os.unlink(os.path.join(os.fsencode(self.root), key))

    def table(self, deadline: float = 30.0) -> RevisionTable:
        """The rows, as Leitstand reads them."""
        return RevisionTable(RevisionAddress(self.conninfo), deadline)

    def store(self) -> DirectoryStore:
        """The objects, as Leitstand reads them."""
        return DirectoryStore(self.root)

    async def reconcile(self, options: ReconcileOptions = AT_ONCE) -> Reconciliation:
        """Reconcile both."""
        async with self.table() as table:
            return await reconcile(table, self.store(), options)
