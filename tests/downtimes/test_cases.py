"""Cases from the field, on the tables themselves."""

from typing import Any

from structlog.testing import capture_logs

from leitstand.downtimes import State, Wanted
from leitstand.downtimes.hand_in import ingest, replay
from leitstand.downtimes.message import LATEST
from tests.downtimes.conftest import Scene, empty, execute
from tests.downtimes.core import (
    ADD,
    DELETE,
    FLEXIBLE,
    SERVICE,
    START,
    STOP,
    T,
    body,
    life,
    message,
)


async def test_too_long_texts_are_cut(scene: Scene) -> None:
    """Case 3."""
    long: dict[str, Any] = {"comment_data": "ü" * 2000, "author_name": "a" * 300}
    with capture_logs() as logs:
        await scene.apply(message(ADD, T - 10, **long))
    for (row,) in (await scene.scheduled(), await scene.history()):
        assert row["comment_data"] == "ü" * 1024
        assert row["author_name"] == "a" * 255
        assert row["duration"] == 7200
    assert [one["event"] for one in logs] == ["text changed to fit the table"] * 2


async def test_the_same_downtime_of_two_cores(scene: Scene) -> None:
    """Case 5."""
    for node in ("core1", "core2"):
        await scene.intake(node=node).take([body(message(ADD, T - 10))])
    await scene.intake(node="core2").take([body(message(START, T))])
    assert [(r["node_name"], r["was_started"]) for r in await scene.scheduled()] == [
        ("core1", 0),
        ("core2", 1),
    ]


async def test_two_downtimes_of_one_host(scene: Scene) -> None:
    """Case 6."""
    await scene.apply(message(ADD, T - 10, downtime_id=1), message(ADD, T - 10, downtime_id=2))
    await scene.apply(message(DELETE, T - 5, downtime_id=1))
    assert [r["internal_downtime_id"] for r in await scene.scheduled()] == [2]
    assert [r["internal_downtime_id"] for r in await scene.history()] == [2]
    shown = await scene.views.scheduled(T - 1, "web01")
    assert [one.row["internal_downtime_id"] for one in shown] == [2]


async def test_the_same_id_elsewhere(scene: Scene) -> None:
    """Case 7."""
    await scene.apply(
        message(ADD, T - 10),
        message(ADD, T - 10, host_name="web02"),
        message(ADD, T + 90, start_time=T + 100),
        message(START, T),
    )
    started = {
        (r["hostname"], r["scheduled_start_time"]): r["was_started"]
        for r in await scene.scheduled()
    }
    assert started == {("web01", T): 1, ("web01", T + 100): 0, ("web02", T): 0}


async def test_a_host_and_its_services(scene: Scene) -> None:
    """Case 8."""
    services = [{**SERVICE, "service_description": f"s{n}", "downtime_id": n} for n in range(3)]
    await scene.apply(*(message(START, T, **one) for one in services), message(START, T))
    before = await scene.scheduled("service"), await scene.history("service")
    await scene.apply(message(STOP, T + 5, attr=2), message(DELETE, T + 5))
    assert await scene.scheduled() == []
    assert (await scene.scheduled("service"), await scene.history("service")) == before


async def test_a_flexible_one_that_never_starts(scene: Scene) -> None:
    """Case 12."""
    await scene.apply(*life("flexible, never triggered", T))
    assert await scene.scheduled() == []
    (shown,) = await scene.views.history(T + 9000)
    assert shown.state is State.NEVER_STARTED
    assert shown.as_dict()["closed_at"].timestamp() == T + 7201


async def test_a_flexible_one_that_starts_late(scene: Scene) -> None:
    """Case 13."""
    *until_start, stop, delete = life("flexible, triggered late", T)
    await scene.apply(*until_start)
    status = await scene.views.status(T + 7400, "web01")
    assert status.in_downtime
    assert status.until is not None
    assert status.until.timestamp() == T + 7600
    await scene.apply(stop, delete)
    (row,) = await scene.history()
    assert row["actual_end_time"] == T + 7600 > row["scheduled_end_time"]


async def test_a_triggered_downtime(scene: Scene) -> None:
    """Case 14."""
    child: dict[str, Any] = {"downtime_id": 43, "triggered_by": 42, "host_name": "web02"}
    await scene.one_by_one(
        message(ADD, T - 10),
        message(ADD, T - 10, **child),
        message(START, T),
        message(START, T, **child),
        message(STOP, T + 60, attr=2),
        message(STOP, T + 60, attr=2, **child),
        message(DELETE, T + 60, **child),
        message(DELETE, T + 60),
    )
    assert await scene.scheduled() == []
    ended = ("was_started", "actual_end_time", "was_cancelled")
    assert [[r[n] for n in ended] for r in await scene.history()] == [[1, T + 60, 1]] * 2


async def test_one_poison_message_among_a_thousand(scene: Scene) -> None:
    """Case 21."""
    good = [body(message(ADD, T - 10, downtime_id=n)) for n in range(999)]
    for poison in (b"{nonsense", b"x" * 10_000_000, b"\0\0\0", b"[" * 100_000):
        counts = await scene.intake().take([*good[:500], poison, *good[500:]])
        assert counts.rejected.total() == 1
        assert counts.applied + counts.ignored.total() == 999
    assert len(await scene.history()) == 999
    letters = await scene.dead_letters.list_all()
    assert [letter.size for letter in letters] == [9, 10_000_000, 3, 100_000]
    assert [letter.deliveries for letter in letters] == [1] * 4


async def test_a_value_that_only_the_database_refuses(maria: Scene) -> None:
    """Somebody made a column narrower: some messages are at fault, not the whole batch."""
    await execute(
        maria.target,
        "ALTER TABLE statusengine_host_downtimehistory MODIFY duration TINYINT UNSIGNED",
    )
    messages = [message(ADD, T - 10, downtime_id=n, duration=n) for n in range(250, 260)]
    counts = await maria.intake().take([body(one) for one in messages])
    assert (counts.applied, dict(counts.rejected)) == (6, {"refused_by_database": 4})
    assert [r["duration"] for r in await maria.history()] == [*range(250, 256)]
    await execute(
        maria.target,
        "ALTER TABLE statusengine_host_downtimehistory MODIFY duration INT UNSIGNED",
    )
    letters = maria.dead_letters
    replayed = await replay(letters, await letters.ids(), lambda _: maria.intake())
    assert (replayed.applied, await letters.count()) == (4, 0)
    assert len(await maria.history()) == 10


async def test_old_rows_of_a_worker_are_known(scene: Scene) -> None:
    """The ledger knows nothing of what the Statusengine worker wrote; the rows do."""
    await scene.apply(message(ADD, T - 10), message(START, T))
    await execute(scene.target, "DELETE FROM leitstand_downtime_ledger")
    before = await scene.everything()
    await scene.one_by_one(message(ADD, T - 10), message(START, T), message(START, T + 60))
    assert await scene.everything() == before
    await scene.apply(message(STOP, T + 90, attr=1))
    assert await scene.scheduled() == []
    assert [r["actual_end_time"] for r in await scene.history()] == [T + 90]


async def test_names_that_differ_only_in_case(scene: Scene) -> None:
    """Case 25: as the table's own rule has it, and never an error."""
    await scene.one_by_one(message(ADD, T - 10), message(ADD, T - 9, host_name="WEB01"))
    folds = scene.target.engine.dialect.name == "mysql"
    assert len(await scene.scheduled()) == (1 if folds else 2)
    await scene.apply(message(START, T, host_name="Web01"), message(START, T))
    assert len(await scene.scheduled()) == (1 if folds else 3)


async def test_times_beyond_2038(scene: Scene) -> None:
    """Case 29."""
    late = {"start_time": 4_000_000_000, "end_time": 2**62}
    await scene.apply(message(ADD, T, **late), message(START, 4_000_000_000, **late))
    (row,) = await scene.scheduled()
    assert (row["actual_start_time"], row["scheduled_end_time"]) == (4_000_000_000, 2**62)
    status = await scene.views.status(4_000_000_001, "web01")
    assert status.as_dict()["until"].year == 9999


async def test_the_latest_time_and_the_longest_duration(scene: Scene) -> None:
    """Their sum is one that databases can reckon with: one message spoils no list."""
    odd = {**FLEXIBLE, "end_time": LATEST, "duration": 2**32 - 1}
    await scene.apply(message(ADD, T - 10, **odd), message(START, LATEST, **odd))
    wanted = Wanted(state=State.RUNNING, begin=T, end=LATEST + 1)
    shown, _ = await scene.views.scheduled_page(T, wanted, None, 10)
    assert [one.row["duration"] for one in shown] == [2**32 - 1]


async def test_one_batch_is_as_good_as_single_messages(scene: Scene) -> None:
    """Folding several events of one downtime leaves what one transaction for each would."""
    messages = [one for n, name in enumerate(("cancelled", "nagios restarts", "object removed"))
                for one in life(name, T + n, downtime_id=n)]  # fmt: skip
    await scene.apply(*messages)
    together = await scene.everything()
    await empty(scene.target)
    await scene.one_by_one(*messages)
    assert await scene.everything() == together


async def test_a_flexible_one_has_the_right_end(scene: Scene) -> None:
    await scene.apply(message(ADD, T - 10, **FLEXIBLE))
    assert not (await scene.views.status(T + 1, "web01")).in_downtime
    await scene.apply(message(START, T + 100, **FLEXIBLE))
    assert (await scene.views.status(T + 699, "web01")).in_downtime
    assert not (await scene.views.status(T + 700, "web01")).in_downtime
    assert [s.state for s in await scene.views.scheduled(T + 700)] == [State.OVERDUE]


async def test_a_file_may_be_handed_in_twice(scene: Scene) -> None:
    lines = [body(one) + b"\r\n" for one in life("cancelled", T, downtime_id=1)] + [b"\n"]
    first = await ingest(lines, scene.intake())
    assert (first.applied, dict(first.ignored)) == (4, {"loaded": 1})
    rows = await scene.everything()
    second = await ingest(lines, scene.intake())
    assert (second.applied, second.ignored.total()) == (0, 5)
    assert await scene.everything() == rows
