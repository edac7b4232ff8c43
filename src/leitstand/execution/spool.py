"""Keeps results on disk that could not be handed over yet."""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leitstand.execution.held_run import Lease

log = logging.getLogger(__name__)


class DocumentSpool:
    """A directory with one JSON file per result, named after run and fencing token."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, lease: Lease, document: Mapping[str, Any]) -> Path:
        """Store a result durably; a second time for the same lease replaces the first."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(lease)
        partial = path.with_suffix(".partial")
        try:
            with partial.open("w", encoding="utf-8") as file:
                json.dump(document, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        return path

    def drop(self, lease: Lease) -> None:
        """The result was handed over, or never kept."""
        self._path(lease).unlink(missing_ok=True)

    def read(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """What is kept, with the file to delete once it is handed over; others are named."""
        for path in sorted(self._directory.glob("*.json")):
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                log.error("the kept result %s is unreadable: %r", path, error)  # noqa: TRY400 -- the file is the story
            else:
                yield path, document

    def _path(self, lease: Lease) -> Path:
        return self._directory / f"{lease.run_id}-{lease.fencing_token}.json"
