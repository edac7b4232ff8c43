"""Collects the entries of a report: the first few in memory, beyond a limit all in a file."""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from leitstand.archive.integrity.revision import Revision


class FindingList:
    """Revisions in the order in which they come; counts them all.

    With ``directory`` None nothing goes to a file. Otherwise the file ``<name>.jsonl`` there
    replaces that of the run before once this list is closed, also when it has few entries: then
    the old one is removed.
    """

    def __init__(self, name: str, limit: int, directory: Path | None) -> None:
        self.name = name
        self.count = 0
        self.first: list[Revision] = []
        self.file: Path | None = None
        self._limit = limit
        self._directory = directory
        self._output: IO[str] | None = None

    def add(self, revisions: Iterable[Revision]) -> None:
        """The next entries."""
        if self._output is not None:
            self._write(revisions)
            return
        before = len(self.first)
        self.first += revisions
        self.count += len(self.first) - before
        if len(self.first) > self._limit:
            self._spill()

    def add_count(self, count: int) -> None:
        """Entries that are only counted."""
        self.count += count

    def close(self) -> None:
        """No more will come; the file has its name, if there is one."""
        if self._directory is None:
            return
        place = self._directory / f"{self.name}.jsonl"
        if self._output is None:
            place.unlink(missing_ok=True)
            return
        self._output.close()
        os.replace(self._output.name, place)
        self._output = None
        self.file = place

    def discard(self) -> None:
        """The run has failed: what was written goes, the file of the run before stays."""
        if self._output is not None:
            self._output.close()
            Path(self._output.name).unlink(missing_ok=True)
            self._output = None

    def _spill(self) -> None:
        if self._directory is None:
            del self.first[self._limit :]
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        self._output = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by close or discard
            "w", encoding="utf-8", dir=self._directory, prefix=f".{self.name}-", delete=False
        )
        self.count = 0
        self._write(self.first)
        del self.first[self._limit :]

    def _write(self, revisions: Iterable[Revision]) -> None:
        assert self._output is not None  # noqa: S101 - callers have looked
        lines = [json.dumps(revision.as_dict()) + "\n" for revision in revisions]
        self._output.writelines(lines)
        self.count += len(lines)
