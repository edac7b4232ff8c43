"""Downtimes for tests of what the site shows of them."""

import time
from typing import Any

from leitstand.downtimes import Counts, DeadLetters, Intake
from leitstand.downtimes.applier import Applier
from tests.downtimes.core import ADD, START, body, message
from tests.web.scene import Web


async def take(web: Web, *bodies: bytes) -> Counts:
    """Take messages in."""
    applier = Applier(await web.downtimes.target(), "core1")
    return await Intake(applier, DeadLetters(web.scene.database), "test").take(bodies)


async def some_downtimes(web: Web) -> None:
    """A running downtime of web01, one to come of a service on it, and a dead letter."""
    now = int(time.time())
    times: dict[str, Any] = {"start_time": now - 60, "end_time": now + 3600, "entry_time": now - 90}
    later = {**times, "start_time": now + 600, "downtime_id": 43}
    service: dict[str, Any] = {"downtime_type": 1, "service_description": "HTTP"}
    await take(
        web,
        body(message(ADD, now - 90, **times)),
        body(message(START, now - 60, **times)),
        body(message(ADD, now - 90, **later, **service)),
        body(message(ADD, now - 90, **times, comment_data=["odd"])),
    )
