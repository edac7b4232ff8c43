"""Detection that is killed with SIGKILL at any moment: each row is told once, in order."""

from pathlib import Path

from leitstand.store.database import Database
from tests.events.killing import kill_amid_backlog
from tests.events.log_scene import log_on_sqlite

ROWS = 1_600
KILLS = 5


async def test_a_backlog_survives_kills(database: Database, conninfo: str, tmp_path: Path) -> None:
    """Cases 6, 15 and 20 (core: 68)."""
    log = await log_on_sqlite(database, tmp_path)
    aftermath = await kill_amid_backlog(log, conninfo, ROWS, KILLS)
    assert aftermath.told == [f"Login: {number}" for number in range(ROWS)]
    assert aftermath.largest_run == 200
    assert aftermath.kills > 1
