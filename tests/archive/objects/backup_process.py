"""A process that takes one backup; test_object_rotation ends it.

Arguments: the repository, Leitstand's data directory, restic, the control database, the source.
"""

import asyncio
import sys
from pathlib import Path

from leitstand.archive import (
    DrillLedger,
    ObjectArchive,
    ObjectLedger,
    ObjectRepository,
    back_up_objects,
)
from leitstand.execution import interruptible
from leitstand.store.database import Database
from tests.archive.objects.quick_repository import PASSWORD


async def back_up() -> None:
    """As asked for by the arguments."""
    location, home, program, conninfo, source = sys.argv[1:]
    repository = ObjectRepository(location, PASSWORD, Path(home), program)
    async with Database(conninfo) as database:
        archive = ObjectArchive(repository, ObjectLedger(database), DrillLedger(database))
        with interruptible():
            await back_up_objects([Path(source)], archive)


if __name__ == "__main__":
    asyncio.run(back_up())
