"""Keeps results on disk that could not be written to the database before the process ended."""

from collections.abc import Iterator
from pathlib import Path

import structlog

from leitstand.execution import DocumentSpool
from leitstand.jobs.finished_run import FinishedRun

log = structlog.get_logger(__name__)


class Spool:
    """Finished runs in a directory."""

    def __init__(self, directory: Path) -> None:
        self._documents = DocumentSpool(directory)

    def keep(self, finished: FinishedRun) -> None:
        """Store a result durably; a second time for the same lease replaces the first."""
        path = self._documents.keep(finished.lease, finished.as_document())
        run = finished.lease.run_id
        log.warning("a result was kept on disk for the next start", run=run, file=path)

    def read(self) -> Iterator[tuple[Path, FinishedRun]]:
        """What is kept, with the file to delete once it is written; unreadable ones are named."""
        for path, document in self._documents.read():
            try:
                yield path, FinishedRun.from_document(document)
            except (ValueError, KeyError, TypeError) as error:
                log.error("a kept result is unreadable", file=path, error=repr(error))  # noqa: TRY400 -- the file is the story
