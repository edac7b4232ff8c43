"""Events about downtimes: raised once each, whoever dies between commit and announcement."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from leitstand.app.downtime_events import FIELDS, NAMES, DowntimeEvents
from leitstand.downtimes import Happened, Herald
from leitstand.downtimes.herald import AT_ONCE
from leitstand.downtimes.intake import Listeners
from leitstand.downtimes.news import event_payload
from leitstand.downtimes.tables import NEWS
from leitstand.downtimes.transition import Happening
from leitstand.errors import UnavailableError
from leitstand.events import EventQueue
from leitstand.store.database import Database
from tests.downtimes.conftest import Scene, events
from tests.downtimes.core import ADD, START, T, body, life, message

LIFE = ["downtime.scheduled", "downtime.started", "downtime.cancelled"]


class Unwilling:
    """Takes nothing until it is told to."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.willing = False

    async def announce(self, happenings: Sequence[Happened]) -> None:
        """Fail, or note them."""
        if not self.willing:
            raise UnavailableError("not now")
        self.names += [one.name for one in happenings]


def announcer(database: Database) -> DowntimeEvents:
    return DowntimeEvents(database, EventQueue(database))


async def stored(database: Database) -> list[dict[str, Any]]:
    """The events, in order."""
    async with database.connection() as connection:
        found = await connection.execute("SELECT * FROM events ORDER BY id")
        return list(await found.fetchall())


async def test_what_happens_is_an_event(scene: Scene, database: Database) -> None:
    assert set(NAMES) == set(Happening)
    herald = Herald(scene.target, announcer(database))
    intake = scene.intake(Listeners(herald=herald))
    comment = "🔧" * 2000
    await intake.take([body(one) for one in life("cancelled", T, comment_data=comment)])
    found = await stored(database)
    assert [one["name"] for one in found] == LIFE
    for one in found:
        assert set(one["payload"]) == set(FIELDS)
        assert one["payload"]["comment"] == comment[:1024]
        assert datetime.fromisoformat(one["payload"]["at"]) == one["occurred_at"]
    assert await rows_of_outbox(scene) == 0


async def rows_of_outbox(scene: Scene) -> int:
    async with scene.target.engine.connect() as connection:
        return len((await connection.execute(NEWS.select())).all())


async def test_what_cannot_be_announced_waits(scene: Scene) -> None:
    """An attempt that fails costs the feed nothing, and no event is lost or out of order."""
    unwilling = Unwilling()
    herald = Herald(scene.target, unwilling)
    intake = scene.intake(Listeners(herald=herald))
    for one in life("cancelled", T):
        await intake.take([body(one)])
    assert await rows_of_outbox(scene) == 3
    unwilling.willing = True
    assert await herald.run_once() == 3
    assert unwilling.names == LIFE
    assert await herald.run_once() == 0


async def test_more_than_one_portion(scene: Scene, database: Database) -> None:
    herald = Herald(scene.target, announcer(database))
    lame = scene.intake(Listeners(herald=Herald(scene.target, Unwilling())))
    for number in range(AT_ONCE + 1):
        await lame.take([body(message(ADD, T, downtime_id=number))])
    assert await herald.run_once() == AT_ONCE + 1
    ids = [one["payload"]["downtime_id"] for one in await stored(database)]
    assert ids == list(range(AT_ONCE + 1))


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_killed_in_the_gap(
    scene: Scene, common_url: str, conninfo: str, database: Database, moment: str
) -> None:
    """kill -9 after the commit to the tables: before the events are stored, and just after."""
    settings = {"database_url": common_url, "conninfo": conninfo, "moment": moment}
    killed = subprocess.run(
        [sys.executable, "-m", "tests.downtimes.dying_intake", json.dumps(settings)],
        input=b"\n".join(body(one) for one in life("cancelled", T)),
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(await scene.history()) == 1
    assert [one["name"] for one in await stored(database)] == ([] if moment == "before" else LIFE)
    herald = Herald(scene.target, announcer(database))
    # The queue hands the messages over again; and whoever comes looks into the outbox.
    intake = scene.intake(Listeners(herald=herald))
    await intake.take([body(one) for one in life("cancelled", T)], again=True)
    assert await herald.run_once() == 3
    assert [one["name"] for one in await stored(database)] == LIFE
    assert await rows_of_outbox(scene) == 0


async def test_the_same_told_twice_is_one_event(database: Database) -> None:
    (event,) = events(message(START, T))
    payload = {**event_payload(event.downtime, event.timestamp), "at": None}
    twice = [Happened(identity, "downtime.started", payload) for identity in ("a", "b", "a")]
    await announcer(database).announce(twice)
    await announcer(database).announce(twice)
    assert [one["message_id"] for one in await stored(database)] == ["a", "b"]
