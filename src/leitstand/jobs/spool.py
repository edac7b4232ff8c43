"""Keeps results on disk that could not be written to the database before the process ended."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import structlog

from leitstand.jobs.queue import FinishedRun

log = structlog.get_logger(__name__)


class Spool:
    """A directory with one JSON file per result, named after run and fencing token."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, finished: FinishedRun) -> None:
        """Store a result durably; a second time for the same lease replaces the first."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lease = finished.lease
        path = self._directory / f"{lease.run_id}-{lease.fencing_token}.json"
        partial = path.with_suffix(".partial")
        try:
            with partial.open("w", encoding="utf-8") as file:
                json.dump(finished.as_document(), file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        log.warning("a result was kept on disk for the next start", run=lease.run_id, file=path)

    def read(self) -> Iterator[tuple[Path, FinishedRun]]:
        """What is kept, with the file to delete once it is written; unreadable ones are named."""
        for path in sorted(self._directory.glob("*.json")):
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                yield path, FinishedRun.from_document(document)
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.error("a kept result is unreadable", file=path, error=repr(error))  # noqa: TRY400 -- the file is the story
