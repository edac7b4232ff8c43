"""Restores snapshots by force, each in a process of its own; tests of restores run it.

Arguments: the repository, its password, a place for everything else, and restic if another than
the one in PATH.
"""

import asyncio
import json
import sys
from pathlib import Path

import structlog

from leitstand.archive import ObjectRepository, ObjectRestore, restore_objects
from tests.forking import serve


def restore(request: str) -> str:
    """Restore a snapshot to ``target``, or to what is named after it; the document."""
    snapshot, _, name = request.partition(" ")
    location, password, place = sys.argv[1:4]
    program = "".join(sys.argv[4:])
    repository = ObjectRepository(location, password, Path(place) / "home", program)
    target, log = Path(place) / (name or "target"), Path(place) / "restore.jsonl"
    order = ObjectRestore(snapshot, target, log, force=True)
    return json.dumps(asyncio.run(restore_objects(order, repository)).as_dict())


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    serve(restore)
