"""The long campaigns: ``python -m tests.events.campaign [writers|kills|flood|idle ...]``.

All of them without arguments, on servers of their own; a line of JSON with its figures for each.
"""

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leitstand.events import EventQueue
from leitstand.store.database import Database
from tests.campaign_server import campaign_server
from tests.conftest import TEMPLATE, Postgres, temporary_short_dir
from tests.events.flooding import JOBS, flood
from tests.events.idling import fill, idle_passes
from tests.events.killing import kill_amid_backlog
from tests.events.log_scene import LogScene, log_on_mariadb, log_on_postgres, log_on_sqlite
from tests.events.stress import Load, stress
from tests.jobs.scene import scene_on
from tests.mariadb_server import MariaDb, mariadb_server

KILLS, BACKLOG = 100, 20_000
EVENTS = 100_000
ROWS, PASSES, BOUND = 10_000_000, 50, 0.020

numbers = itertools.count()


@dataclass(frozen=True)
class Place:
    """The servers of a campaign."""

    directory: Path
    postgres: Postgres
    mariadb: MariaDb

    @asynccontextmanager
    async def database(self) -> AsyncIterator[Database]:
        """A control database of its own."""
        name = f"campaign_{next(numbers)}"
        self.postgres.create_database(name, TEMPLATE)
        async with Database(self.postgres.conninfo(name), deadline=60) as database:
            yield database

    @asynccontextmanager
    async def log(self, kind: str) -> AsyncIterator[LogScene]:
        """An application's log on that kind of database."""
        async with self.database() as database:
            match kind:
                case "mariadb":
                    yield await log_on_mariadb(database, self.mariadb)
                case "postgres":
                    yield await log_on_postgres(database, self.postgres)
                case _:
                    directory = self.directory / f"sqlite-{next(numbers)}"
                    directory.mkdir()
                    yield await log_on_sqlite(database, directory)


async def writers(place: Place, kind: str) -> bool:
    """The stress test of the specification; SQLite has one writer, and no such trap."""
    if kind == "sqlite":
        return True
    async with place.log(kind) as log:
        log.settled = 10.0
        found = await stress(log, Load())
    tell(
        "writers",
        kind,
        committed=len(found.written),
        lost=found.lost,
        repeated=found.repeated,
        late=found.late,
        dead=found.dead,
        naively_lost=found.naively_lost,
    )
    return found.lost == found.repeated == 0


async def kills(place: Place, kind: str) -> bool:
    """Kills over a backlog: each row once, in order, and never more than 200 a run."""
    async with place.log(kind) as log:
        aftermath = await kill_amid_backlog(log, log.database.conninfo, BACKLOG, KILLS)
    in_order = aftermath.told == [f"Login: {number}" for number in range(BACKLOG)]
    tell(
        "kills",
        kind,
        kills=aftermath.kills,
        runs=aftermath.runs,
        events=len(aftermath.told),
        in_order=in_order,
        largest_run=aftermath.largest_run,
    )
    return in_order and aftermath.largest_run <= 200


async def idle(place: Place, kind: str) -> bool:
    """All seven detectors over a long table in which nothing is new."""
    async with place.log(kind) as log:
        await fill(log, ROWS)
        noted, median = await idle_passes(log, PASSES)
    tell(
        "idle",
        kind,
        rows=ROWS,
        statements=len(noted.statements),
        milliseconds=round(median * 1000, 2),
    )
    return median <= BOUND


async def flooded(place: Place, kind: str) -> bool:
    """At most one running and one waiting run of each job, and a run after the last event."""
    if kind != "postgres":
        return True
    async with place.database() as database:
        scene = scene_on(database, place.directory / "spool")
        found = await flood(scene, EventQueue(database), EVENTS, patience=600)
    followed = all(map(found.is_followed, JOBS))
    counted = {job: found.counted(job) for job in JOBS}
    tell(
        "flood",
        kind,
        events=EVENTS,
        counted=counted,
        runs={job: len(found.runs[job]) for job in JOBS},
        most_running=found.most.running,
        most_waiting=found.most.queued,
        followed=followed,
        seconds=round(found.seconds, 1),
    )
    most = max(found.most.running, found.most.queued)
    return followed and most <= 1 and set(counted.values()) == {EVENTS}


CAMPAIGNS: dict[str, Callable[[Place, str], Coroutine[Any, Any, bool]]] = {
    "writers": writers,
    "kills": kills,
    "flood": flooded,
    "idle": idle,
}


def tell(campaign: str, kind: str, **figures: Any) -> None:
    """A line."""
    print(json.dumps({"campaign": campaign, "on": kind, **figures}), flush=True)


@contextmanager
def servers() -> Iterator[Place]:
    """Servers that are gone afterwards."""
    with (
        campaign_server() as (postgres, _),
        mariadb_server(on_disk=True) as mariadb,
        temporary_short_dir(on_disk=True) as directory,
    ):
        yield Place(directory, postgres, mariadb)


def main() -> int:
    """Run them; exit status 1 when a figure is not what it should be."""
    good = True
    with servers() as place:
        for name in sys.argv[1:] or CAMPAIGNS:
            for kind in ("mariadb", "postgres", "sqlite"):
                good &= asyncio.run(CAMPAIGNS[name](place, kind))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
