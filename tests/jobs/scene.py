"""Control servers and job kinds for the tests of the loop."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from leitstand.errors import FailureClass, LeitstandError, NotFoundError
from leitstand.execution import (
    Children,
    CommandExecutor,
    Executor,
    Isolation,
    Kinds,
    Params,
    Reporter,
    Result,
    RunFacts,
)
from leitstand.jobs import (
    ControlServer,
    Domain,
    HostDowntimes,
    JobLedger,
    JobSpec,
    LoopSettings,
    NoDowntimes,
    Queue,
    ReportWriter,
    Run,
    Runner,
    RunStatus,
    Servers,
    Spool,
    WindowLedger,
    WindowSource,
)
from leitstand.jobs.event_drain import EventDrain
from leitstand.jobs.event_runs import EventRuns
from leitstand.jobs.run_change import Tell, tell_nobody
from leitstand.store.database import Database, DatabaseUnavailableError

QUICK = LoopSettings(tick=0.2, heartbeat=0.1, stale_after=1.0, shutdown_grace=3.0, late_grace=1.0)
PATIENCE = 20.0
T = TypeVar("T")


class NoParams(Params):
    """No parameters."""


class Noop:
    """Succeeds at once."""

    kind: ClassVar[str] = "noop"
    params: ClassVar[type[Params]] = NoParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    async def execute(self, params: NoParams, run: RunFacts, reporter: Reporter) -> Result:
        return Result()


class NapParams(Params):
    """How long to sleep, in seconds."""

    seconds: float = 0.05


class Nap:
    """Takes a moment, so that a killed server is in the middle of it now and then."""

    kind: ClassVar[str] = "nap"
    params: ClassVar[type[Params]] = NapParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    async def execute(self, params: NapParams, run: RunFacts, reporter: Reporter) -> Result:
        await asyncio.sleep(params.seconds)
        return Result()


class GateParams(Params):
    """What a gate does once it is opened."""

    fail: bool = False
    skipped: int = 0
    stubborn: bool = False


class Gate:
    """Runs until the test opens it; records who has entered."""

    kind: ClassVar[str] = "gate"
    params: ClassVar[type[Params]] = GateParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.entered: list[RunFacts] = []
        self.most_inside = 0
        self.inside = 0

    async def execute(self, params: GateParams, run: RunFacts, reporter: Reporter) -> Result:
        self.entered.append(run)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        reporter.log(f"run {run.run_id} entered")
        reporter.progress(50, "half way")
        try:
            await self._wait(params.stubborn)
        finally:
            self.inside -= 1
        if params.fail:
            raise LeitstandError("it broke", code="BROKEN", failure_class=FailureClass.TRANSIENT)
        return Result(objects_skipped=params.skipped, skip_reasons=("locked",) * params.skipped)

    async def _wait(self, stubborn: bool) -> None:
        while not self.opened.is_set():
            try:
                await self.opened.wait()
            except asyncio.CancelledError:
                if not stubborn:
                    raise


@dataclass
class Scene:
    """A database, its ledgers, and what tests ask of them."""

    database: Database
    jobs: JobLedger
    queue: Queue
    kinds: Kinds
    spool: Path
    gate: Gate = field(default_factory=Gate)
    downtimes: HostDowntimes = field(default_factory=NoDowntimes)
    tell: Tell = tell_nobody
    further: Sequence[Executor[Any]] = ()

    def domain(self, database: Database | None = None, grace: float = 1.0) -> Domain:
        """The parts of a further control server, on ``database`` or the scene's own pool."""
        database = database or self.database
        queue = Queue(database, self.tell)
        reports = ReportWriter(queue)
        children = Children()
        command = CommandExecutor(children=children, grace=grace)
        kinds = Kinds([Noop(), Nap(), self.gate, command, *self.further])
        return Domain(
            database=database,
            jobs=JobLedger(database, kinds),
            queue=queue,
            servers=Servers(database),
            runner=Runner(kinds, queue, reports, no_worker, children),
            reports=reports,
            spool=Spool(self.spool),
            downtimes=self.downtimes,
        )

    async def job(self, name: str = "job", kind: str = "noop", **fields: Any) -> None:
        """Save a job."""
        await self.jobs.save(JobSpec(name=name, kind=kind, **fields))

    async def make_due(self, name: str, seconds: float = 0.0) -> None:
        """Move a job's anchor and next time to ``seconds`` before now."""
        async with self.database.connection() as connection:
            await connection.execute(
                "UPDATE jobs SET anchor = t.past, next_run_at = t.past"
                " FROM (SELECT clock_timestamp() - make_interval(secs => %s) AS past) AS t"
                " WHERE name = %s",
                (seconds, name),
            )

    async def let_in(self, name: str = "job") -> Run:
        """A requested run of a job of the kind ``gate`` that has really entered it."""
        run = await self.queue.request(name)

        async def look() -> Run | None:
            inside = any(facts.run_id == run.id for facts in self.gate.entered)
            return await self.queue.get(run.id) if inside else None

        return await eventually(look)

    async def ended(self, run: Run | int, patience: float = PATIENCE) -> Run:
        """The run once it has ended."""
        run_id = run if isinstance(run, int) else run.id
        return await self.when(lambda r: r.status.is_final, run_id, patience)

    async def running(self, run: Run | int) -> Run:
        """The run once it is running."""
        run_id = run if isinstance(run, int) else run.id
        return await self.when(lambda r: r.status is RunStatus.RUNNING, run_id)

    async def when(
        self, condition: Callable[[Run], bool], run_id: int, patience: float = PATIENCE
    ) -> Run:
        """The run once ``condition`` holds for it."""

        async def look() -> Run | None:
            try:
                run = await self.queue.get(run_id)
            except NotFoundError:
                return None
            return run if condition(run) else None

        return await eventually(look, patience)

    async def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """The rows of a query."""
        async with self.database.connection() as connection:
            return await (await connection.execute(query.encode(), values)).fetchall()

    async def non_runs(self, name: str) -> list[dict[str, Any]]:
        """The job's occurrences without a run, newest first."""
        job = await self.jobs.get(name)
        return [non_run.as_dict() for non_run in await self.jobs.non_runs(job)]


async def no_worker(*_: object) -> Result:
    raise AssertionError("no kind of the scene runs in a worker")


async def execute(scene: Scene, statement: str) -> None:
    """Carry out a statement that returns no rows."""
    async with scene.database.connection() as connection:
        await connection.execute(statement.encode())


async def somebody_waits(scene: Scene) -> bool | None:
    """Whether a session waits for a lock, for ``eventually``."""
    waiting = "wait_event_type = 'Lock' AND datname = current_database()"
    return bool(await scene.rows(f"SELECT 1 FROM pg_stat_activity WHERE {waiting}")) or None


async def hand_over_events(scene: Scene) -> None:
    """What one pass does about events, and about queued runs that windows hold back."""
    windows = WindowSource(WindowLedger(scene.database), scene.downtimes)
    await EventDrain(scene.database, scene.jobs, EventRuns(scene.tell), windows).run_once()


async def eventually(look: Callable[[], Awaitable[T | None]], patience: float = PATIENCE) -> T:
    """What ``look`` returns once it is not None; databases offer nothing to wait for.

    A database that is away at the moment counts as not yet.
    """
    until = time.monotonic() + patience
    while time.monotonic() < until:
        with contextlib.suppress(DatabaseUnavailableError):
            found = await look()
            if found is not None:
                return found
        await asyncio.sleep(0.02)
    raise AssertionError("the expected state did not come in time")


def scene_on(
    database: Database,
    spool: Path,
    executors: Sequence[Executor[Any]] = (),
    tell: Tell = tell_nobody,
) -> Scene:
    """A scene on a database; ``executors`` are further kinds that jobs may have."""
    gate = Gate()
    kinds = Kinds([Noop(), Nap(), gate, CommandExecutor(), *executors])
    queue = Queue(database, tell)
    return Scene(
        database,
        JobLedger(database, kinds),
        queue,
        kinds,
        spool,
        gate,
        tell=tell,
        further=executors,
    )


@asynccontextmanager
async def control_server(
    scene: Scene,
    settings: LoopSettings = QUICK,
    name: str = "a",
    database: Database | None = None,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator["Running"]:
    """A control server in this process; it is asked to stop at the end, if it still runs."""
    server = ControlServer(scene.domain(database), settings, name, "test", clock)
    stop = asyncio.Event()
    task = asyncio.create_task(server.run(stop))
    running = Running(server, stop, task)
    try:
        yield running
    finally:
        scene.gate.opened.set()
        await running.ended()


@dataclass
class Running:
    """A control server that runs as a task."""

    server: ControlServer
    stop: asyncio.Event
    task: asyncio.Task[int]

    async def ended(self) -> int:
        """Ask it to stop; how many runs it left."""
        self.stop.set()
        return await self.task

    async def server_drained(self, scene: Scene) -> None:
        """Ask it to claim nothing more, and wait until it knows and has ended its last pass."""
        await Servers(scene.database).drain(self.server.instance)
        passes = self.server.passes

        async def pass_since(before: float) -> bool | None:
            return (self.server.draining and passes.last_completed > before) or None

        for _ in range(2):
            await eventually(partial(pass_since, passes.last_completed))
