"""Has backups go where backups went: looks before one is taken, and remembers the place after it.

A backup is worth more than the look: where the control database cannot be asked (which may be for
want of one: no ledger), it is taken.
"""

from pathlib import Path

import psycopg
import structlog

from leitstand.archive.postgres.directory_ledger import DirectoryLedger
from leitstand.archive.postgres.directory_mark import KnownMark, marked, require_known
from leitstand.errors import LeitstandError

_NO_LEDGER = psycopg.errors.UndefinedTable
"""A database that no control server has begun to use, or only an older one."""

_NOT_ASKED = (LeitstandError, psycopg.Error)

log = structlog.get_logger(__name__)


async def require_known_directory(ledger: DirectoryLedger | None, directory: Path) -> None:
    """Raise what ``require_known`` raises, if ``ledger`` can be asked."""
    require_known(directory, await _known(ledger, directory))


async def remember_directory(
    ledger: DirectoryLedger | None, directory: Path, generation: str
) -> None:
    """Mark and remember ``directory`` after a backup of ``generation``, which counts in any case.

    What keeps from that is told in the log.
    """
    if ledger is None:
        return
    try:
        await ledger.remember(directory, marked(directory), generation)
    except _NO_LEDGER:
        log.info("backup directory not remembered: no control server was started yet")
    except _NOT_ASKED as error:
        log.warning("backup directory not remembered", reason=str(error))


async def _known(ledger: DirectoryLedger | None, directory: Path) -> list[KnownMark]:
    if ledger is None:
        return []
    try:
        return await ledger.known(directory)
    except _NO_LEDGER:
        return []
    except _NOT_ASKED as error:
        log.warning("not known whether this is the right directory", reason=str(error))
        return []
