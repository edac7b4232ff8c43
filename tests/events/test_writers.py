"""Eight writers, slow transactions, rollbacks: nothing lost, nothing repeated."""

from tests.events.log_scene import LogScene
from tests.events.stress import Load, stress

SHORT = Load(seconds=4.0, slow=1.0, slow_share=0.01)


async def test_nothing_is_lost_and_nothing_told_twice(shared_log: LogScene) -> None:
    """Cases 10, 11, 17 and 23; the naive poller beside it loses rows in the same seconds."""
    shared_log.settled = 1.0
    found = await stress(shared_log, SHORT)
    assert (found.lost, found.repeated) == (0, 0)
    assert found.naively_lost > 0, "the trap was not there: the test shows nothing"
