"""The reaper: what the core forgot is closed, what may still run is not."""

from datetime import UTC, datetime

from leitstand.app.downtime_events import FIELDS, DowntimeEvents
from leitstand.downtimes import Herald, Listeners, Reaper, State
from leitstand.events import Event, EventQueue
from leitstand.store.database import Database
from tests.downtimes.conftest import Scene
from tests.downtimes.core import ADD, DELETE, FLEXIBLE, SERVICE, START, STOP, T, body, life, message

GRACE = 900


async def test_a_downtime_without_an_end_is_closed(scene: Scene) -> None:
    """Case 1."""
    await scene.apply(message(ADD, T - 10), message(START, T), message(START, T, **SERVICE))
    reaper = Reaper(scene.target, GRACE)
    assert await reaper.run_once(T + 7200 + GRACE) == []
    assert [one.state for one in await scene.views.scheduled(T + 7201)] == [State.OVERDUE] * 2
    assert not (await scene.views.status(T + 7201, "web01")).in_downtime
    reaped = await reaper.run_once(T + 7201 + GRACE)
    assert [one.ended for one in reaped] == [T + 7200] * 2
    assert await scene.scheduled() == await scene.scheduled("service") == []
    (row,) = await scene.history()
    assert (row["actual_end_time"], row["was_started"]) == (T + 7200, 1)
    (shown,) = await scene.views.history(T + 9000)
    assert shown.state is State.REAPED
    assert await reaper.run_once(T + 99_999) == []


async def test_a_late_message_outweighs_the_guess(scene: Scene) -> None:
    await scene.apply(message(ADD, T - 10), message(START, T))
    await Reaper(scene.target, GRACE).run_once(T + 9000)
    await scene.apply(message(START, T))  # a stale copy does not
    assert await scene.scheduled() == []
    await scene.apply(message(STOP, T + 100, attr=2), message(DELETE, T + 100))
    (row,) = await scene.history()
    assert (row["actual_end_time"], row["was_cancelled"]) == (T + 100, 1)
    (shown,) = await scene.views.history(T + 9000)
    assert shown.state is State.CANCELLED


async def test_a_flexible_one_has_its_duration(scene: Scene) -> None:
    """Case 13."""
    add, start, *_ = life("flexible, triggered late", T, duration=7200)
    await scene.apply(add, start)  # until T + 14200
    reaper = Reaper(scene.target, GRACE)
    assert await reaper.run_once(T + 7201 + GRACE) == []
    assert [one.ended for one in await reaper.run_once(T + 14201 + GRACE)] == [T + 14200]


async def test_what_is_closed_is_told_once(scene: Scene, database: Database) -> None:
    """As what the core says; a word of its own that comes later is told where it is another."""
    await scene.apply(message(ADD, T - 10), message(START, T), message(START, T, **SERVICE))
    await scene.apply(message(ADD, T - 10, downtime_id=9, **FLEXIBLE))
    reaper = Reaper(scene.target, GRACE, leaves_news=True)
    herald = Herald(scene.target, DowntimeEvents(database, EventQueue(database)))
    for _ in range(2):
        await reaper.run_once(T + 9000)
        await herald.run_once()
    told = await raised(database)
    whats = [(one.name, one.payload["downtime_id"], one.payload["service"]) for one in told]
    assert sorted(whats, key=str) == [
        ("downtime.ended", 42, "HTTP"),
        ("downtime.ended", 42, None),
        ("downtime.removed", 9, None),
    ]
    for one in told:
        assert set(one.payload) == set(FIELDS)
        assert one.payload["reaped"]
        assert one.occurred_at == datetime.fromtimestamp(T + 7200, UTC)
    intake = scene.intake(Listeners(herald=herald))
    late = [message(STOP, T + 7200, attr=1, usec=5), message(DELETE, T + 7200, usec=6)]
    cancelled = message(STOP, T + 60, attr=2, **SERVICE)
    never = message(DELETE, T + 7201, downtime_id=9, **FLEXIBLE)
    await intake.take([body(one) for one in (*late, cancelled, never)])
    assert [one.name for one in (await raised(database))[3:]] == ["downtime.cancelled"]


async def raised(database: Database) -> list[Event]:
    """The events, oldest first."""
    return (await EventQueue(database).list_events())[::-1]
