"""Answers what agents ask and tell: hello, tasks, heartbeats, reports, results, goodbye.

It keeps nothing between two requests, so that an agent may turn to another server at any time.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from functools import partial

import psycopg
import structlog

from leitstand.agent_protocol import (
    Claim,
    Delivery,
    Goodbye,
    Hello,
    Orders,
    Poll,
    Received,
    Recorded,
    Report,
    Reports,
    Task,
    Vouch,
    Vouched,
    Welcome,
)
from leitstand.errors import (
    ConflictError,
    LeitstandError,
    NotFoundError,
    UnavailableError,
    UsageError,
)
from leitstand.execution import Ending
from leitstand.jobs.agents.board import TaskBoard
from leitstand.jobs.agents.ledger import Agents
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.loop_settings import LoopSettings
from leitstand.jobs.queue import Queue
from leitstand.jobs.recorder import without_result
from leitstand.jobs.run import StartedRun
from leitstand.jobs.run_change import RunChange
from leitstand.jobs.runner import check_start, finish, tell

log = structlog.get_logger(__name__)

by_agent = partial(finish, by="agent")


class NotRegisteredError(ConflictError):
    """The instance is not known (any more): it must say hello again."""

    code = "NOT_REGISTERED"


class DrainingError(UnavailableError):
    """This server hands out no tasks; another may."""

    code = "DRAINING"


class StrangerError(NotFoundError):
    """The instance is not one of the module that asks."""

    code = "UNKNOWN_INSTANCE"


class AgentDesk:
    """One server's desk. ``on_recorded`` is told of each result, and whether it was written.

    Every call names the module that was authenticated; it gets at its own instances only.
    """

    def __init__(
        self,
        queue: Queue,
        board: TaskBoard,
        settings: LoopSettings,
        draining: Callable[[], bool],
        on_recorded: Callable[[FinishedRun, bool], None],
    ) -> None:
        self._database = queue.database
        self._agents = Agents(queue.database, settings.stale_after)
        self._queue = queue
        self._board = board
        self._settings = settings
        self._draining = draining
        self._on_recorded = on_recorded

    async def hello(self, module: str, hello: Hello) -> Welcome:
        """Take a process of the module's agent in; raises ConflictError for its tags."""
        instance = await self._agents.register(module, hello)
        log.info("agent registered", instance=instance, host=hello.host, kinds=hello.kinds)
        return Welcome(
            instance=instance,
            heartbeat=self._settings.heartbeat,
            stale_after=self._settings.stale_after,
        )

    async def poll(self, module: str, poll: Poll) -> Orders:
        """Tasks for the agent's free slots and runs to cancel, as soon as there are any.

        Both empty after ``poll.wait`` seconds, or when the agent has asked again meanwhile. Raises
        NotRegisteredError, DrainingError.
        """
        _own(module, poll.instance)
        until = asyncio.get_running_loop().time() + poll.wait
        agent = await self._agents.find(poll.instance)
        if agent is None:
            raise NotRegisteredError(f"{poll.instance} is not registered")
        with self._board.waiting(agent, poll.held, poll.full) as waiter:
            while True:
                if self._draining():
                    raise DrainingError("this control server is draining")
                orders = await self._look(poll)
                if orders.tasks or orders.cancelled or not await waiter.woken(until):
                    return orders

    async def _look(self, poll: Poll) -> Orders:
        given = await self._agents.given(poll.instance)
        lost = [task.started for task in given if task.started.lease.run_id not in poll.held]
        started = [] if lost else await self._agents.start(poll.instance)
        for run in started:
            self._queue.tell(RunChange.started(run))
        cancelled = {task.started.lease.run_id for task in given if task.cancelled}
        return Orders(
            tasks=tuple([_task(run) for run in [*lost, *started] if await self._may_start(run)]),
            cancelled=frozenset(cancelled & poll.held - poll.halted),
        )

    async def _may_start(self, started: StartedRun) -> bool:
        """Look at what must be so right before the start; what may not start ends here."""
        try:
            await check_start(self._queue, started)
        except LeitstandError as error:
            await self._record(by_agent(started, Ending(error=error), None, _jitter()))
            return False
        return True

    async def beat(self, module: str, vouch: Vouch) -> Vouched:
        """Vouch for the agent and its runs."""
        _own(module, vouch.instance)
        registered, (held, beaten, cancelled) = await self._agents.beat(
            vouch.instance, vouch.claims
        )
        return Vouched(registered=registered, held=held, beaten=beaten, cancelled=cancelled)

    async def report(self, module: str, reports: Reports) -> Received:
        """Add to the logs of runs and set their progress; nothing is written for lost ones."""
        _own(module, reports.instance)
        return Received(positions=await self._take(reports.instance, reports.reports))

    async def _take(self, instance: str, reports: Sequence[Report]) -> dict[int, int]:
        positions = await self._agents.append(instance, reports)
        progress = [
            (report.claim.lease, *report.progress)
            for report in reports
            if report.progress is not None and report.claim.run in positions
        ]
        if progress:
            await self._queue.set_progress(progress)
        return positions

    async def result(self, module: str, delivery: Delivery) -> Recorded:
        """Write how a run ended, after the rest of its log.

        A second delivery changes nothing; one that comes after the run's release is stored beside
        it. Raises NotFoundError when the run is not, or no longer, there.
        """
        _own(module, delivery.instance)
        claim = delivery.claim
        given = await self._agents.given(delivery.instance, claim.run)
        if not given or given[0].started.lease != claim.lease:
            raise NotFoundError(f"{delivery.instance} was not given run {claim.run}")
        started = given[0].started
        try:
            ending = delivery.end.ending()
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError("the result cannot be read") from error
        finished = by_agent(started, ending, delivery.end.halted, _jitter())
        for report in delivery.reports:  # one after the other: each begins where the last ended
            await self._take(delivery.instance, [report])
        tell(started, finished)
        return Recorded(recorded=await self._record(finished))

    async def _record(self, finished: FinishedRun) -> bool:
        try:
            written = bool(await self._queue.finish([finished]))
        except psycopg.DataError as error:  # or the agent would bring it again for ever
            log.exception("the database refuses a result", run=finished.lease.run_id)
            finished = without_result(finished, error)
            written = bool(await self._queue.finish([finished]))
        self._on_recorded(finished, written)
        self._board.ring()
        return written

    async def goodbye(self, module: str, goodbye: Goodbye) -> None:
        """Take a process that ends out of the list; what it never took goes to others."""
        _own(module, goodbye.instance)
        await self._agents.farewell(goodbye.instance, sorted(goodbye.held))
        log.info("agent left", instance=goodbye.instance)


def _own(module: str, instance: str) -> None:
    if instance.rpartition("-")[0] != module:
        raise StrangerError(f"{instance} is no instance of the module {module}")


def _jitter() -> float:
    return random.random()  # noqa: S311 -- not a secret


def _task(started: StartedRun) -> Task:
    return Task(
        claim=Claim.of(started.lease),
        job=started.job,
        kind=started.kind,
        params=dict(started.params),
        attempt=started.attempt,
        correlation_id=str(started.correlation_id),
        scheduled_at=started.scheduled_at,
        timeout=started.timeout,
        event=dict(started.event) if started.event is not None else None,
    )
