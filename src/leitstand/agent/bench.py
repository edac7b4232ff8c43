"""Where an agent carries out its tasks: what is on it, what is new, how it is cleared."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from leitstand.agent.client import RefusedError
from leitstand.agent.outbox import Outbox
from leitstand.agent.task_run import TaskRun
from leitstand.agent_protocol import Delivery, End, Poll, Task
from leitstand.errors import LeitstandError
from leitstand.execution import (
    Children,
    Ending,
    HaltReason,
    HeldRuns,
    Kinds,
    WorkerCall,
    ending_of,
    execute,
)

log = structlog.get_logger(__name__)

LAST_PATIENCE = 2.0
"""Seconds after the grace for what is killed to end and for results to reach the disk."""


@dataclass(frozen=True)
class Abilities:
    """The kinds of tasks that an agent takes, and by what it carries them out.

    ``children`` must be those under which the executors of ``kinds`` start their processes.
    """

    kinds: Kinds
    in_worker: WorkerCall
    children: Children


class Bench:
    """The tasks at hand, until their results are delivered; ``changed`` is set when one is gone."""

    def __init__(self, abilities: Abilities, slots: int) -> None:
        self.runs = HeldRuns[TaskRun]()
        self.changed = asyncio.Event()
        self._abilities = abilities
        self._slots = slots
        self._work: set[asyncio.Task[None]] = set()
        self._spent: set[int] = set()

    @property
    def held(self) -> frozenset[int]:
        """The runs at hand, and those that were done though the servers would not hear of it."""
        return frozenset({held.lease.run_id for held in self.runs} | self._spent)

    @property
    def left(self) -> int:
        """How many could not be ended."""
        return len(self._work)

    def poll(self, instance: str) -> Poll:
        """The question for more."""
        runs = list(self.runs)
        busy = Counter(held.task.kind for held in runs)
        halted = (h for h in runs if h.stop_reason is not None or not h.executing)
        return Poll(
            instance=instance,
            held=self.held,
            halted=frozenset(held.lease.run_id for held in halted),
            full=frozenset(kind for kind, count in busy.items() if count >= self._slots),
        )

    def new_of(self, tasks: Iterable[Task]) -> list[Task]:
        """Those that are not, and have not been, at hand."""
        held = self.held
        return [task for task in tasks if task.claim.run not in held]

    def cancel(self, run_ids: Iterable[int]) -> None:
        """Stop these, because somebody wants it."""
        for run_id in run_ids:
            held = self.runs.get(run_id)
            if held is not None and held.executing and held.stop_reason is None:
                held.stop(HaltReason.PERSON)

    def begin(
        self, held: TaskRun, outbox: Outbox, on_refused: Callable[[RefusedError], object]
    ) -> None:
        """Carry the task out and deliver what came of it; ``on_refused``: nobody takes it."""
        self.runs.add(held)
        carrying = self._carry_out(held, outbox, on_refused)
        work = asyncio.create_task(carrying, name=f"run-{held.lease.run_id}")
        held.attach(work)
        self._work.add(work)
        work.add_done_callback(self._work.discard)

    async def clear(self, reason: HaltReason, grace: float) -> None:
        """Stop all and wait until they are delivered, at most ``grace`` seconds; the rest is kept.

        What does not end then is killed.
        """
        for held in self.runs:
            if held.executing:
                held.stop(reason)
        for patience in (grace, LAST_PATIENCE):
            if self._work:
                await asyncio.wait(tuple(self._work), timeout=patience)
            for work in tuple(self._work):
                work.cancel()

    async def _carry_out(
        self, held: TaskRun, outbox: Outbox, on_refused: Callable[[RefusedError], object]
    ) -> None:
        try:
            delivery = await self._delivery(held, outbox)
            if not await outbox.deliver(delivery):
                # The servers may believe that it is still to be done; it may not be done twice.
                self._spent.add(held.lease.run_id)
        except RefusedError as error:
            on_refused(error)
        except Exception:  # the task's end may not be lost without a word
            log.exception("a task failed unexpectedly", run=held.lease.run_id)
        finally:
            self.runs.remove(held)
            self.changed.set()

    async def _delivery(self, held: TaskRun, outbox: Outbox) -> Delivery:
        task, craft = held.task, self._abilities
        reporter = outbox.open(held.lease)
        work = execute(craft.kinds, craft.in_worker, task.params, task.facts(), reporter)
        try:
            ending = await ending_of(work)
        finally:
            held.ended()
            outbox.close(held.lease)
        return Delivery(
            instance=held.instance,
            claim=task.claim,
            end=sayable(End.of(ending, held.stop_reason)),
            reports=reporter.last_reports(),
        )


def sayable(end: End) -> End:
    """The end as it is, or the error that it cannot be written: a kind may return anything."""
    try:
        end.model_dump_json()
    except ValueError as error:
        unwritable = LeitstandError(
            f"the work was done, but its result cannot be written as JSON: {error}",
            code="RESULT_NOT_STORED",
        )
        return End.of(Ending(error=unwritable), None)
    return end
