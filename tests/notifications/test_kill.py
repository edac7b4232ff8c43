"""Two dispatchers that are killed at random lose nothing and repeat what was in flight alone."""

import random

from leitstand.notifications import Status
from leitstand.store.database import Database
from tests.notifications.campaign import campaign

ROWS, KILLS = 200, 3


async def test_none_is_lost_and_only_what_was_in_flight_is_repeated(database: Database) -> None:
    """Cases 40 and 41, with one message at a time in each dispatcher: a repetition per kill.

    The short form of ``python -m tests.notifications.campaign``.
    """
    toll = await campaign(database, ROWS, KILLS, at_once=1, chance=random.Random(7))
    assert toll.is_fair(at_once=1), toll
    assert toll.doubtful <= KILLS


def test_the_statuses_are_those_of_the_contract() -> None:
    assert list(Status) == ["pending", "sending", "sent", "failed"]
