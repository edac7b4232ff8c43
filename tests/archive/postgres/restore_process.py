"""Restores a generation by force, each time in a process of its own; arguments: it, and a place.

A request is ``full`` or ``newest``, and whether the stages are to be read in processes.
"""

import sys
from pathlib import Path

import structlog

from leitstand.archive.postgres import stage_reading
from leitstand.archive.postgres.restore import Restore, restore_database
from leitstand.store.account import server_account
from leitstand.store.binaries import embedded_binaries
from tests.forking import serve

BINARIES = embedded_binaries()
WORTH = stage_reading.WORTH


def restore(request: str) -> str:
    """Restore it to ``target``; where it came from."""
    stage, how = request.split()
    stage_reading.WORTH = 0 if how == "processes" else WORTH
    generation, place = Path(sys.argv[1]), Path(sys.argv[2])
    order = Restore(
        generation=generation,
        target=place / "target",
        log=place / "restore.jsonl",
        force=True,
        upto=None if stage == "newest" else stage,
    )
    return restore_database(order, BINARIES, server_account()).source


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    serve(restore)
