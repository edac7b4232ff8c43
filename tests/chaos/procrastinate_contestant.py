"""procrastinate in a campaign: the same jobs, faults and evidence, for comparison.

It has no groups and says nothing about occurrences that it leaves out, so its campaign has no
grouped jobs, and every occurrence without a job counts as lost.
"""

import asyncio
import contextlib
import time
from datetime import UTC, datetime
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import procrastinate
import psycopg
from psycopg.rows import dict_row

from tests.chaos.arena import BEHIND_PROXY, Arena
from tests.chaos.contestant import HEARTBEAT, JOBS, PERIOD, STALE_AFTER, TICK, marks
from tests.chaos.evidence import spans, witness
from tests.chaos.leitstand_contestant import SETTINGS, SETTLING
from tests.chaos.procrastinate_worker import main, peer_app
from tests.chaos.verdict import Facts, RunFact
from tests.jobs.scene import eventually
from tests.jobs.server_processes import ServerProcess
from tests.nursery import NURSERY

FINAL = ("succeeded", "failed", "cancelled", "aborted")


class ProcrastinateContestant:
    """Its workers as processes, one of them behind the proxy."""

    def __init__(self, conninfo: str, proxied: str, directory: Path) -> None:
        self._conninfo = conninfo
        self._proxied = proxied
        self._directory = directory
        self._evidence = directory / "evidence"
        self._names = [f"job-{number}" for number in range(JOBS)]
        self._hired: list[ServerProcess] = []
        self._seen: dict[int, str] = {}
        self._changed: set[int] = set()
        self._planned: frozenset[tuple[str, datetime]] = frozenset()
        self._began = 0.0

    async def hire(self, place: int, skew: float) -> ServerProcess:
        """Start a worker."""
        log = self._directory / f"worker-{len(self._hired)}.log"
        log.touch()
        news, theirs = NURSERY.Pipe(duplex=False)
        config = self._config(place == BEHIND_PROXY, skew)
        process: ForkServerProcess = NURSERY.Process(target=main, args=(config, log, theirs))
        await asyncio.to_thread(process.start)
        theirs.close()
        server = ServerProcess(process, log, news)
        self._hired.append(server)
        return server

    def _config(self, proxied: bool, skew: float) -> dict[str, Any]:
        return {
            "conninfo": self._proxied if proxied else self._conninfo,
            "jobs": self._names,
            "script": witness(self._evidence),
            "period": PERIOD,
            "slots": SETTINGS.max_concurrent_runs,
            "tick": TICK,
            "heartbeat": HEARTBEAT,
            "stale_after": STALE_AFTER,
            "grace": SETTINGS.shutdown_grace,
            "skew": skew,
        }

    async def flood(self) -> object:
        """It keeps no output, so there is nothing to flood."""
        return None

    async def prepare(self) -> None:
        """Its tables; its jobs are code."""
        app: procrastinate.App = peer_app(self._config(proxied=False, skew=0.0))
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
        self._began = time.time()

    async def watch(self) -> None:
        """A final row may never change again."""
        with contextlib.suppress(psycopg.Error):
            rows = await self._rows(
                "SELECT id, status::text || attempts AS was FROM procrastinate_jobs"
                " WHERE status::text = ANY(%s)",
                list(FINAL),
            )
            final = {row["id"]: row["was"] for row in rows}
            self._changed |= {job for job, was in self._seen.items() if final.get(job) != was}
            self._seen = final

    async def finish(self) -> None:
        """Its schedules cannot be stopped: what is planned by now counts."""
        first = int(self._began) // PERIOD * PERIOD + 2 * PERIOD
        slots = range(first, int(time.time()) // PERIOD * PERIOD, PERIOD)
        self._planned = frozenset(
            (name, datetime.fromtimestamp(slot, UTC)) for name in self._names for slot in slots
        )
        with contextlib.suppress(AssertionError):
            await eventually(self._all_ended, SETTLING)

    async def _all_ended(self) -> bool | None:
        last = max(slot for _, slot in self._planned)
        facts = [fact for fact in await self._facts_of_jobs() if fact.slot and fact.slot <= last]
        return all(fact.final for fact in facts) or None

    async def facts(self, arena: Arena) -> Facts:
        """What the tables and the evidence tell of the occurrences that count."""
        await self.watch()
        planned_slots = {slot for _, slot in self._planned}
        return Facts(
            planned=self._planned,
            explained=frozenset(),
            runs=[fact for fact in await self._facts_of_jobs() if fact.slot in planned_slots],
            spans=spans(marks(self._evidence)),
            changed=len(self._changed),
            troubles=arena.troubles,
            group=frozenset(),
            faults=arena.struck,
            gave_up=arena.gave_up,
        )

    async def _facts_of_jobs(self) -> list[RunFact]:
        rows = await self._rows(
            "SELECT id, task_name, status::text, attempts, (args ->> 'timestamp')::bigint AS slot"
            " FROM procrastinate_jobs WHERE task_name = ANY(%s)",
            self._names,
        )
        return [
            RunFact(
                id=row["id"],
                job=row["task_name"],
                slot=datetime.fromtimestamp(row["slot"], UTC),
                status=row["status"],
                final=row["status"] in FINAL,
                token=f"{row['id']}/{row['attempts'] - 1}",
            )
            for row in rows
        ]

    async def _rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        connection = await psycopg.AsyncConnection.connect(
            self._conninfo, row_factory=dict_row, autocommit=True, connect_timeout=5
        )
        async with connection:
            return await (await connection.execute(query.encode(), values)).fetchall()

    async def end(self) -> None:
        """Kill all that still run, and let go of everything."""
        for server in self._hired:
            if server.process.is_alive():
                await server.killed()
            server.process.close()
            server.news.close()
