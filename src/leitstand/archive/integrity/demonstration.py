"""A small document store with planted faults, for people who want to see them found.

Until there are tenants it lies in a schema of its own in the control database, and in a directory
below the data directory; neither touches anything else.
"""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leitstand.archive.integrity.report_ledger import ReportLedger
from leitstand.archive.integrity.scrub_ledger import remove_inventory
from leitstand.errors import ConflictError
from leitstand.store.database import Database, load_queries

queries = load_queries(__file__)

TABLE = "leitstand_demo.file_revisions"
DOCUMENTS = 12
MARK = "made-by-leitstand-demo"
"""A file beside the objects without which nothing is ever removed."""


@dataclass(frozen=True)
class Planted:
    """The faults, by the keys of their objects."""

    missing: tuple[str, ...] = (
        "2026/04/0004-r1.pdf",
        "2026/06/0006-r2.pdf",
    )
    orphaned: tuple[str, ...] = ("2026/07/forgotten-upload.pdf",)
    corrupted: tuple[str, ...] = (
        "2026/03/0003-r1.pdf",
        "2026/10/0010-r2.pdf",
    )

    def as_dict(self) -> dict[str, list[str]]:
        """As documents show it."""
        return {
            "missing": list(self.missing),
            "orphaned": list(self.orphaned),
            "corrupted": list(self.corrupted),
        }


PLANTED = Planted()


@dataclass(frozen=True)
class Demonstration:
    """The demonstration of one data directory."""

    directory: Path

    @property
    def objects(self) -> Path:
        """The document store."""
        return self.directory / "objects"

    @property
    def exists(self) -> bool:
        """Whether it was set up, and not removed since."""
        return (self.directory / MARK).is_file()

    async def set_up(self, control: Database) -> Mapping[str, Any]:
        """Make it, or make it as new; returns what is there. Raises ConflictError."""
        self._refuse_what_is_not_ours()
        await self.remove(control)
        contents = _contents()
        self._write(contents)
        async with control.transaction() as connection:
            await queries.create(connection)
            for number, (key, content) in enumerate(sorted(contents.items()), start=1):
                await queries.insert(
                    connection,
                    id=number,
                    document_id=int(key[8:12]),
                    storage_key=key,
                    checksum=hashlib.sha256(content).hexdigest(),
                )
        return {
            "table": TABLE,
            "store": str(self.objects),
            "documents": DOCUMENTS,
            "revisions": len(contents),
            "planted": PLANTED.as_dict(),
        }

    async def remove(self, control: Database) -> bool:
        """Take all of it away; whether there was any. What was found in it is forgotten, too."""
        self._refuse_what_is_not_ours()
        existed = self.exists
        async with control.transaction() as connection:
            await queries.drop(connection)
        await remove_inventory(control, str(self.objects))
        await ReportLedger(control).remove(str(self.objects))
        shutil.rmtree(self.directory, ignore_errors=not existed)
        return existed

    def _write(self, contents: Mapping[str, bytes]) -> None:
        self.objects.mkdir(parents=True)
        (self.directory / MARK).touch()
        for key, content in contents.items():
            if key in PLANTED.missing:
                continue
            damaged = content.replace(b"EUR", b"EUr", 1)
            self._put(key, damaged if key in PLANTED.corrupted else content)
        for key in PLANTED.orphaned:
            self._put(key, _content(key))

    def _put(self, key: str, content: bytes) -> None:
        path = self.objects / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def _refuse_what_is_not_ours(self) -> None:
        if self.directory.exists() and not self.exists and any(self.directory.iterdir()):
            raise ConflictError(
                f"{self.directory} holds something that is not the demonstration's",
                remedy="Look what it is, and move it away.",
            )


def _contents() -> dict[str, bytes]:
    """Two revisions of each document, under the keys that an application might give them."""
    keys = (
        f"2026/{document:02}/{document:04}-r{revision}.pdf"
        for document in range(1, DOCUMENTS + 1)
        for revision in (1, 2)
    )
    return {key: _content(key) for key in keys}


def _content(key: str) -> bytes:
    return f"Invoice {key}\n\nAmount: {len(key) * 7} EUR\n".encode() * 50
