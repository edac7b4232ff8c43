"""A campaign: servers and agents work while faults strike; then all is mended, and counted."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from leitstand.store.database import Database
from tests.agents.agent_processes import agents_on
from tests.chaos.arena import DATABASE, Arena
from tests.chaos.contestant import RESCUE_LIMIT, STALE_AFTER, Contestant
from tests.chaos.faults import Fault
from tests.chaos.leitstand_contestant import LeitstandContestant
from tests.chaos.procrastinate_contestant import ProcrastinateContestant
from tests.chaos.verdict import Verdict, judge, late_rescues
from tests.conftest import TEMPLATE, Postgres
from tests.jobs.scene import scene_on
from tests.jobs.server_processes import servers_on
from tests.stalling_proxy import stalling_proxy

Tell = Callable[[str], object]


def each_once(faults: Sequence[Fault], chance: random.Random) -> Iterator[Fault]:
    """All of them, in an order of chance."""
    return iter(chance.sample(faults, len(faults)))


def for_seconds(faults: Sequence[Fault], chance: random.Random, seconds: float) -> Iterator[Fault]:
    """Rounds of all of them until the time is over."""
    until = time.monotonic() + seconds
    while True:
        for fault in each_once(faults, chance):
            if time.monotonic() >= until:
                return
            yield fault


async def campaign(
    contestant: Contestant, arena: Arena, faults: Iterator[Fault], tell: Tell
) -> Verdict:
    """Let the faults strike one after the other; what became of the work."""
    began, since = time.monotonic(), datetime.now(UTC)
    await contestant.prepare()
    await arena.occupy()
    for fault in faults:
        await asyncio.sleep(0.3 + arena.chance.random())
        tell(f"{time.monotonic() - began:6.1f} s  {fault.name}")
        arena.struck[fault.name] += 1
        await fault.strike(arena)
        await contestant.watch()
        await arena.count_those_that_gave_up()
    await asyncio.sleep(STALE_AFTER)
    await contestant.finish()
    await arena.leave()
    facts = await contestant.facts(arena)
    for late in late_rescues(facts, RESCUE_LIMIT, since):
        tell(late)
    return judge(facts)


@asynccontextmanager
async def leitstand_on(
    postgres: Postgres, directory: Path, chance: random.Random
) -> AsyncIterator[tuple[LeitstandContestant, Arena]]:
    """Leitstand on a fresh database of the server, which may be broken."""
    postgres.create_database(DATABASE, TEMPLATE)
    conninfo = postgres.conninfo(DATABASE)
    async with (
        stalling_proxy(postgres.socket_dir) as proxy,
        Database(conninfo, deadline=2.0) as database,
        servers_on(conninfo, directory) as servers,
        agents_on(database, directory) as agents,
    ):
        conninfos = {False: conninfo, True: f"{conninfo} host={proxy.directory}"}
        scene = scene_on(database, directory / "spool")
        contestant = LeitstandContestant(scene, servers, agents, conninfos, directory / "evidence")
        arena = Arena(
            postgres,
            proxy,
            contestant.hire,
            contestant.hire_agent,
            chance,
            STALE_AFTER,
            contestant.flood,
        )
        yield contestant, arena


@asynccontextmanager
async def procrastinate_on(
    postgres: Postgres, directory: Path, chance: random.Random
) -> AsyncIterator[tuple[ProcrastinateContestant, Arena]]:
    """procrastinate on an empty database of the server, which may be broken."""
    postgres.create_database(DATABASE)
    conninfo = postgres.conninfo(DATABASE)
    async with stalling_proxy(postgres.socket_dir) as proxy:
        proxied = f"{conninfo} host={proxy.directory}"
        contestant = ProcrastinateContestant(conninfo, proxied, directory)
        try:
            yield (
                contestant,
                Arena(
                    postgres, proxy, contestant.hire, None, chance, STALE_AFTER, contestant.flood
                ),
            )
        finally:
            await contestant.end()
