"""What agents ask and tell may be repeated, come late, or be none of their business."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pytest

from leitstand.agent_protocol import (
    POLL_WAIT,
    Claim,
    Delivery,
    End,
    Goodbye,
    Hello,
    Poll,
    Report,
    Reports,
    Task,
    Vouch,
)
from leitstand.errors import ConflictError, LeitstandError, NotFoundError, UsageError
from leitstand.execution import RUN_LIMIT, Ending, HaltReason, Result
from leitstand.jobs import AgentDesk, Agents, LoopSettings, Queue, RunStatus, TaskBoard
from leitstand.jobs.agents.desk import DrainingError, NotRegisteredError
from leitstand.jobs.rescuer import Rescuer
from leitstand.modules import ModuleLedger
from leitstand.notifications import JobNews, Outbox, parse_notify_rules
from leitstand.store.database import Database
from tests.jobs.scene import Scene, eventually

NOW = 0.0
"""For a question that does not wait."""


@dataclass
class Counter:
    """A desk without a server around it."""

    desk: AgentDesk
    board: TaskBoard
    drains: bool = False
    recorded: list[bool] = field(default_factory=list)


@pytest.fixture
def counter(scene: Scene) -> Counter:
    board = TaskBoard(Agents(scene.database))
    counter: Counter
    desk = AgentDesk(
        scene.queue,
        board,
        LoopSettings(stale_after=60),
        draining=lambda: counter.drains,
        on_recorded=lambda _, written: counter.recorded.append(written),
    )
    counter = Counter(desk, board)
    return counter


async def hello(counter: Counter, name: str = "web1", **fields: object) -> str:
    known = {"host": "h", "pid": 1, "version": "1", "kinds": ["noop"], "tags": ["pool"], "slots": 1}
    welcome = await counter.desk.hello(name, Hello.model_validate({**known, **fields}))
    return welcome.instance


async def given(scene: Scene, counter: Counter, instance: str) -> Task:
    """A task that the agent of that instance has been given."""
    await scene.job("job", runs_on=["pool"])
    await scene.queue.request("job")
    orders = await counter.desk.poll("web1", Poll(instance=instance, wait=NOW))
    (task,) = orders.tasks
    return task


async def texts(scene: Scene, run: int) -> list[str]:
    return [entry.text for entry in await scene.queue.logs(run)]


async def test_a_task_that_was_lost_on_its_way_is_given_again(
    scene: Scene, counter: Counter
) -> None:
    """With the same token; once the agent says that it has it, no more."""
    instance = await hello(counter, slots=5)
    task = await given(scene, counter, instance)
    again = await counter.desk.poll("web1", Poll(instance=instance, wait=NOW))
    assert again.tasks == (task,)
    held = Poll(instance=instance, held=frozenset({task.claim.run}), wait=NOW)
    assert (await counter.desk.poll("web1", held)).tasks == ()


async def test_a_piece_of_log_is_stored_once(scene: Scene, counter: Counter) -> None:
    """Repeated, also at the same time, too far ahead, and after the limit."""
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim

    async def send(position: int, text: str) -> int:
        report = Report(claim=claim, position=position, text=text)
        received = await counter.desk.report("web1", Reports(instance=instance, reports=(report,)))
        return received.positions[claim.run]

    assert await asyncio.gather(*(send(0, "äöü") for _ in range(5))) == [3] * 5
    assert await send(0, "äöü") == 3
    assert await send(7, "gap") == 3
    assert await send(3, "\ud800\0") == 5
    assert await send(5, "x" * RUN_LIMIT) == RUN_LIMIT + 5
    assert await send(RUN_LIMIT + 5, "too much") == RUN_LIMIT + 13
    assert await texts(scene, claim.run) == ["äöü", "?\N{REPLACEMENT CHARACTER}", "x" * RUN_LIMIT]


async def test_a_result_that_is_delivered_twice_counts_once(scene: Scene, counter: Counter) -> None:
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim
    delivery = Delivery(
        instance=instance,
        claim=claim,
        end=End.of(Ending(result=Result(objects_processed=3, result={"a": [1]})), None),
        reports=(
            Report(claim=claim, text="one", progress=(None, "nearly")),
            Report(claim=claim, position=3, text="two"),
        ),
    )
    for _ in range(3):
        await counter.desk.result("web1", delivery)
    run = await scene.queue.get(claim.run)
    assert counter.recorded == [True, False, False]
    assert (run.status, run.objects_processed, run.result) == (RunStatus.SUCCEEDED, 3, {"a": [1]})
    assert run.progress_message == "nearly"
    assert await texts(scene, claim.run) == ["one", "two"]
    assert await scene.queue.late_results(claim.run) == []


async def test_a_run_that_failed_on_an_agent_is_told_to_people(
    scene: Scene, database: Database
) -> None:
    outbox, board = Outbox(database), TaskBoard(Agents(database))
    news = JobNews(outbox, parse_notify_rules([]), {"default": ("ops@x",)})
    queue = Queue(database, watcher=news)
    async with Database(database.conninfo, pool_size=2) as own:
        desk = AgentDesk(queue.over(own), board, LoopSettings(), lambda: False, lambda *_: None)
        counter = Counter(desk, board)
        instance = await hello(counter)
        claim = (await given(scene, counter, instance)).claim
        ending = Ending(error=UsageError("it broke"))
        await desk.result(
            "web1", Delivery(instance=instance, claim=claim, end=End.of(ending, None))
        )
    (told,) = await outbox.list_all()
    assert (told.recipient, told.payload["run"]) == ("ops@x", claim.run)


async def test_a_result_that_cannot_be_stored_ends_the_run_all_the_same(
    scene: Scene, counter: Counter
) -> None:
    """Or the agent would bring it again for ever."""
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim
    end = End.of(Ending(result=Result(objects_processed=2**70)), None)
    delivery = Delivery(instance=instance, claim=claim, end=end)
    assert (await counter.desk.result("web1", delivery)).recorded
    run = await scene.queue.get(claim.run)
    assert (run.status, run.error_code) == (RunStatus.FAILED, "RESULT_NOT_STORED")


async def test_a_result_after_the_release_is_kept_beside_the_run(
    scene: Scene, counter: Counter
) -> None:
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim
    rescuer = Rescuer(scene.database, scene.queue, 0.0, of_agents=True)
    assert [run.id for run in await rescuer.run_once()] == [claim.run]
    released = await scene.queue.get(claim.run)
    vouched = await counter.desk.beat("web1", Vouch(instance=instance, claims=(claim,)))
    assert (vouched.registered, vouched.held, vouched.beaten) == (True, frozenset(), frozenset())
    report = Report(claim=claim, text="late")
    received = await counter.desk.report("web1", Reports(instance=instance, reports=(report,)))
    assert received.positions == {}
    delivery = Delivery(
        instance=instance, claim=claim, end=End.of(Ending(result=Result()), None), reports=(report,)
    )
    assert not (await counter.desk.result("web1", delivery)).recorded
    assert not (await counter.desk.result("web1", delivery)).recorded
    assert await scene.queue.get(claim.run) == released
    (late,) = await scene.queue.late_results(claim.run)
    assert late["outcome"]["status"] == "succeeded"
    assert await texts(scene, claim.run) == []


async def test_servers_and_agents_are_released_by_steps_of_their_own(
    scene: Scene, counter: Counter
) -> None:
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim
    assert await Rescuer(scene.database, scene.queue, 0.0).run_once() == []
    assert (await scene.queue.get(claim.run)).status is RunStatus.RUNNING


async def test_another_agents_run_cannot_be_touched(scene: Scene, counter: Counter) -> None:
    """Run numbers and tokens can be guessed; the owner's name is what the credential proves."""
    owner, other = await hello(counter), await hello(counter, "web2")
    claim = (await given(scene, counter, owner)).claim
    before = await scene.queue.get(claim.run)
    report = Report(claim=claim, text="mine", progress=(1.0, "mine"))
    end = End.of(Ending(result=Result()), None)
    calls: list[Callable[[str], object]] = [
        lambda i: counter.desk.report("web2", Reports(instance=i, reports=(report,))),
        lambda i: counter.desk.beat("web2", Vouch(instance=i, claims=(claim,))),
        lambda i: counter.desk.result("web2", Delivery(instance=i, claim=claim, end=end)),
        lambda i: counter.desk.goodbye("web2", Goodbye(instance=i)),
        lambda i: counter.desk.poll("web2", Poll(instance=i, wait=NOW)),
    ]
    for call in calls:
        with pytest.raises(NotFoundError):
            await call(owner)  # type: ignore[misc]
    received = await counter.desk.report("web2", Reports(instance=other, reports=(report,)))
    assert received.positions == {}
    vouched = await counter.desk.beat("web2", Vouch(instance=other, claims=(claim,)))
    assert (vouched.held, vouched.beaten) == (frozenset(), frozenset())
    with pytest.raises(NotFoundError):
        await counter.desk.result("web2", Delivery(instance=other, claim=claim, end=end))
    assert await scene.queue.get(claim.run) == before


async def test_a_tag_may_not_be_the_name_of_another_module(scene: Scene, counter: Counter) -> None:
    await ModuleLedger(scene.database).register("db1", "1.0")
    with pytest.raises(ConflictError):
        await hello(counter, tags=["linux", "db1"])
    assert await hello(counter, "db1", tags=["db1"])


async def test_what_an_agent_never_took_goes_on_at_once_when_it_leaves(
    scene: Scene, counter: Counter
) -> None:
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim
    await counter.desk.goodbye("web1", Goodbye(instance=instance))
    rescuer = Rescuer(scene.database, scene.queue, 60.0, of_agents=True)
    assert [run.id for run in await rescuer.run_once()] == [claim.run]


async def test_who_is_not_known_must_introduce_itself(scene: Scene, counter: Counter) -> None:
    instance = await hello(counter)
    await scene.rows("DELETE FROM agents RETURNING 1")
    with pytest.raises(NotRegisteredError):
        await counter.desk.poll("web1", Poll(instance=instance, wait=NOW))
    assert not (await counter.desk.beat("web1", Vouch(instance=instance))).registered


async def test_a_draining_server_sends_agents_away(counter: Counter) -> None:
    """Those that wait, too."""
    instance = await hello(counter)
    waiting = asyncio.create_task(counter.desk.poll("web1", Poll(instance=instance)))
    await eventually(partial(some_wait, counter, 1))
    counter.drains = True
    counter.board.look_again()
    with pytest.raises(DrainingError):
        await waiting


async def some_wait(counter: Counter, count: int) -> bool | None:
    return len(counter.board) == count or None


async def test_many_that_wait_hold_no_connection(scene: Scene, database: Database) -> None:
    """A hundred agents and a pool of two; one run wakes those that may take it."""
    async with Database(database.conninfo, pool_size=2) as small:
        board = TaskBoard(Agents(small))
        desk = AgentDesk(Queue(small), board, LoopSettings(), lambda: False, lambda *_: None)
        counter = Counter(desk, board)
        board_task = asyncio.create_task(board.run())
        polls = []
        for number in range(100):
            name = f"web{number}"
            instance = await hello(counter, name, tags=["odd" if number % 2 else "even"])
            polls.append(asyncio.create_task(desk.poll(name, Poll(instance=instance))))
        await eventually(partial(some_wait, counter, 100))
        await scene.job("job", runs_on=["odd"])
        run = await scene.queue.request("job")
        board.ring()
        done, pending = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED, timeout=10)
        (orders,) = [poll.result() for poll in done]
        assert [task.claim.run for task in orders.tasks] == [run.id]
        board_task.cancel()
        await asyncio.wait((*pending, board_task), timeout=10)
        assert all(poll.result().tasks == () for poll in pending)


async def test_a_later_question_ends_an_earlier_one(counter: Counter) -> None:
    """The earlier one's connection is gone, though nobody has told the server."""
    instance = await hello(counter)
    first = asyncio.create_task(counter.desk.poll("web1", Poll(instance=instance)))
    await eventually(partial(some_wait, counter, 1))
    second = asyncio.create_task(counter.desk.poll("web1", Poll(instance=instance)))
    assert (await asyncio.wait_for(first, POLL_WAIT / 2)).tasks == ()
    second.cancel()


async def test_a_job_that_is_gone_ends_its_run(scene: Scene, counter: Counter) -> None:
    instance = await hello(counter)
    await scene.job("job", runs_on=["pool"])
    run = await scene.queue.request("job")
    await scene.rows("DELETE FROM jobs RETURNING 1")
    assert (await counter.desk.poll("web1", Poll(instance=instance, wait=NOW))).tasks == ()
    ended = await scene.queue.get(run.id)
    assert (ended.status, ended.error_code) == (RunStatus.FAILED, "JOB_UNREADABLE")


@pytest.mark.parametrize(
    "end",
    [
        End(error={"message": "m"}),
        End(error={"message": "m", "detail": None, "code": "C", "class": "odd"}),
        End(result={"objects": 1}),
        End(result={"skip_reasons": None}),
    ],
)
async def test_a_result_that_cannot_be_read_is_refused(
    scene: Scene, counter: Counter, end: End
) -> None:
    instance = await hello(counter)
    claim = (await given(scene, counter, instance)).claim
    with pytest.raises(UsageError):
        await counter.desk.result("web1", Delivery(instance=instance, claim=claim, end=end))
    assert (await scene.queue.get(claim.run)).status is RunStatus.RUNNING


def test_an_end_survives_the_way() -> None:
    error = LeitstandError("it broke", detail="there", code="BROKEN")
    for ending, halted in (
        (Ending(cancelled=True), HaltReason.PERSON),
        (Ending(error=error), None),
        (Ending(result=Result(1, 2, 3, 4, ("locked",), {"a": None})), None),
    ):
        end = End.model_validate_json(End.of(ending, halted).model_dump_json())
        back = end.ending()
        assert (back.cancelled, back.result, end.halted) == (
            ending.cancelled,
            ending.result,
            halted,
        )
        if ending.error is not None:
            assert isinstance(back.error, LeitstandError)
            assert back.error.as_dict() == error.as_dict()
    odd = End.of(Ending(error=ValueError("secret=abc")), None).ending().error
    assert isinstance(odd, LeitstandError)
    assert (odd.code, odd.message) == ("EXECUTION_FAILED", "ValueError: secret=***")


def test_claims_are_leases() -> None:
    claim = Claim(run=1, token=2)
    assert Claim.of(claim.lease) == claim


async def test_what_a_full_group_keeps_waiting_holds_up_nothing_else(
    scene: Scene, counter: Counter
) -> None:
    """It took the only slot from all that came after it, for as long as the group was full."""
    await scene.job("here", group="one")
    await scene.job("grouped", group="one", priority=5, runs_on=["pool"])
    await scene.job("free", runs_on=["pool"])
    for name in ("here", "grouped", "free"):
        await scene.queue.request(name)
    assert [run.job for run in await scene.queue.start("a", 1)] == ["here"]
    orders = await counter.desk.poll("web1", Poll(instance=await hello(counter), wait=NOW))
    assert [task.job for task in orders.tasks] == ["free"]
