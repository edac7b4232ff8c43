"""Two dispatchers that are killed at random lose nothing and repeat what was in flight alone."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from leitstand.notifications import Draft, Outbox, Status
from leitstand.store.database import Database
from tests.jobs.scene import eventually

ROWS, KILLS = 1000, 5


async def test_none_is_lost_and_only_what_was_in_flight_is_repeated(
    database: Database, conninfo: str, tmp_path: Path
) -> None:
    """Cases 40 and 41, with one message at a time in each dispatcher: a repetition per kill."""
    outbox, file, chance = Outbox(database, 50), tmp_path / "delivered", random.Random(7)
    file.touch()
    async with database.transaction() as connection:
        drafts = [Draft("log", "log", {"n": n}) for n in range(ROWS)]
        await outbox.enqueue_in(connection, drafts)

    with worker(conninfo, file):
        for kill in range(KILLS):
            with worker(conninfo, file):
                goal = (kill + 1) * ROWS // (KILLS + 2) + chance.randrange(20)
                await eventually(partial(delivered_at_least, file, goal), patience=60)
        await eventually(lambda: all_sent(outbox), patience=60)

    delivered = Counter(file.read_text().split())
    assert set(delivered) == {str(draft.message_id) for draft in drafts}
    repeated = {message for message, times in delivered.items() if times > 1}
    assert sum(delivered.values()) - ROWS <= KILLS
    doubtful = {str(each.message_id) for each in await outbox.list_all(limit=ROWS) if each.in_doubt}
    assert repeated <= doubtful
    assert len(doubtful) <= KILLS


@contextmanager
def worker(conninfo: str, file: Path) -> Iterator[None]:
    """A dispatcher's process, killed at the end in the middle of whatever it does."""
    argv = [sys.executable, "-m", "tests.notifications.worker", conninfo, str(file)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


async def delivered_at_least(file: Path, goal: int) -> bool | None:
    return file.read_bytes().count(b"\n") >= goal or None


async def all_sent(outbox: Outbox) -> bool | None:
    backlog = await outbox.backlog()
    return backlog.pending + backlog.sending == 0 or None


def test_the_statuses_are_those_of_the_contract() -> None:
    assert list(Status) == ["pending", "sending", "sent", "failed"]
