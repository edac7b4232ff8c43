"""A scrub in a process that a test kills: ``python -m … CONNINFO ROOT RATE``."""

import asyncio
import sys
from pathlib import Path

from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.quota import Quota
from leitstand.archive.integrity.revision_address import RevisionAddress
from leitstand.archive.integrity.revision_table import RevisionTable
from leitstand.archive.integrity.scrub import ScrubOptions, scrub
from leitstand.archive.integrity.scrub_ledger import ScrubLedger
from leitstand.store.database import Database


async def main(conninfo: str, root: str, rate: float) -> None:
    """Scrub everything."""
    store = DirectoryStore(Path(root))
    options = ScrubOptions(Quota(count=100_000), max_rate=rate)
    async with Database(conninfo) as database, RevisionTable(RevisionAddress(conninfo), 60) as rows:
        await scrub(rows, store, await ScrubLedger.of(database, store.name), options)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
