"""Leitstand in a campaign."""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from leitstand.errors import ConflictError
from leitstand.jobs import LoopSettings
from leitstand.store.database import DatabaseUnavailableError
from tests.agents.agent_processes import AgentProcess, AgentProcesses
from tests.chaos.arena import BEHIND_PROXY, PLACES, Arena
from tests.chaos.contestant import (
    GROUP_LIMIT,
    GROUPED,
    HEARTBEAT,
    JOBS,
    PERIOD,
    REMOTE,
    RESCUE_LIMIT,
    STALE_AFTER,
    TICK,
    marks,
)
from tests.chaos.evidence import spans, witness
from tests.chaos.verdict import Facts, RunFact
from tests.jobs.scene import Scene, eventually
from tests.jobs.server_processes import ServerProcess, Servers
from tests.ports import free_port

SETTINGS = LoopSettings(
    tick=TICK,
    heartbeat=HEARTBEAT,
    stale_after=STALE_AFTER,
    max_concurrent_runs=8,
    shutdown_grace=3.0,
    late_grace=1.0,
)
SETTLING = RESCUE_LIMIT + 5.0
"""Seconds in which all ends once nothing more is planned: a lost run, its release, its retry."""

RETRY = {"max_attempts": 3, "backoff": 0.1}
FLOOD = "flood"
REMOTE_GROUPED = 2
"""Of the jobs on agents, so many share the group with those on servers."""


class LeitstandContestant:
    """Control servers and agents as processes, one of the servers behind the proxy."""

    def __init__(
        self,
        scene: Scene,
        servers: Servers,
        agents: AgentProcesses,
        conninfos: Mapping[bool, str],
        evidence: Path,
    ) -> None:
        self._scene = scene
        self._servers = servers
        self._agents = agents
        self._ports = [free_port() for _ in range(PLACES)]
        self._conninfos = conninfos
        self._evidence = evidence
        self._names = [f"job-{number}" for number in range(JOBS)]
        self._grouped = [f"pair-{number}" for number in range(GROUPED)]
        self._remote = [f"remote-{number}" for number in range(REMOTE)]
        self._seen: dict[int, str] = {}
        self._changed: set[int] = set()
        self._planned: set[tuple[str, datetime]] = set()

    async def hire(self, place: int, skew: float) -> ServerProcess:
        """Start a control server."""
        conninfo = self._conninfos[place == BEHIND_PROXY]
        port = self._ports[place]
        return await self._servers.start(SETTINGS, conninfo=conninfo, skew=skew, port=port)

    async def hire_agent(self, place: int) -> AgentProcess:
        """Start an agent that begins with another server than the others."""
        urls = [f"http://127.0.0.1:{port}" for port in self._ports]
        urls = urls[place:] + urls[:place]
        return await self._agents.start(f"agent-{place}", urls, tags=["remote"], slots=4)

    async def prepare(self) -> None:
        """Jobs that may not overlap, and such that share a group."""
        script = witness(self._evidence)
        common: dict[str, Any] = {"kind": "command", "every": f"{PERIOD}s", "retry": RETRY}
        for name in self._names:
            await self._scene.job(name, params={"shell": script}, **common)
        for name in self._grouped:
            await self._scene.job(name, params={"shell": script}, group="pair", **common)
        for number, name in enumerate(self._remote):
            group = "pair" if number < REMOTE_GROUPED else None
            params = {"shell": script}
            await self._scene.job(name, params=params, group=group, runs_on=["remote"], **common)
        flood = witness(self._evidence, "yes 'a flood' | head -c 20000000")
        await self._scene.job(FLOOD, kind="command", params={"shell": flood}, retry=RETRY)
        await self._rows(f"UPDATE job_groups SET max_running = {GROUP_LIMIT} RETURNING name")

    async def flood(self) -> object:
        """Ask for the job that floods, unless it waits already."""
        with contextlib.suppress(ConflictError, DatabaseUnavailableError):
            return await self._scene.queue.request(FLOOD)
        return None

    async def watch(self) -> None:
        """A final row may never change again, nor vanish."""
        try:
            rows = await self._rows(
                "SELECT id, md5(runs::text) AS was FROM runs WHERE finished_at IS NOT NULL"
            )
        except DatabaseUnavailableError:
            return
        final = {row["id"]: row["was"] for row in rows}
        self._changed |= {run for run, was in self._seen.items() if final.get(run) != was}
        self._seen = final

    async def finish(self) -> None:
        """The plan ends with the next time of each job; what comes before it must have a row."""
        jobs = await eventually(self._disabled)
        for job in jobs:
            self._planned |= {(job["name"], slot) for slot in _grid(job)}
        with contextlib.suppress(AssertionError):  # what is left is counted
            await eventually(self._nothing_active, SETTLING)

    async def _disabled(self) -> list[dict[str, Any]] | None:
        return await self._rows(
            "UPDATE jobs SET enabled = FALSE WHERE next_run_at IS NOT NULL"
            " RETURNING name, anchor, next_run_at"
        )

    async def _nothing_active(self) -> bool | None:
        return not await self._rows("SELECT 1 FROM runs WHERE finished_at IS NULL") or None

    async def facts(self, arena: Arena) -> Facts:
        """What the tables and the evidence tell."""
        await self.watch()
        runs = await self._rows("SELECT * FROM runs ORDER BY id")
        left_out = await self._rows("SELECT * FROM non_runs")
        return Facts(
            planned=frozenset(self._planned),
            explained=frozenset(
                (job, slot)
                for job, slot in self._planned
                for row in left_out
                if row["job"] == job
                and row["scheduled_at"] <= slot <= (row["until"] or row["scheduled_at"])
            ),
            runs=[_fact(row) for row in runs],
            spans=spans(marks(self._evidence)),
            changed=len(self._changed),
            troubles=arena.troubles,
            group=frozenset((*self._grouped, *self._remote[:REMOTE_GROUPED])),
            faults=arena.struck,
            gave_up=arena.gave_up,
        )

    async def _rows(self, query: str) -> list[dict[str, Any]]:
        return await self._scene.rows(query)


def _grid(job: Mapping[str, Any]) -> Iterator[datetime]:
    """The occurrences of a job before its next one, by arithmetic."""
    step = timedelta(seconds=PERIOD)
    slot = job["anchor"] + step
    while slot < job["next_run_at"]:
        yield slot
        slot += step


def _fact(row: Mapping[str, Any]) -> RunFact:
    rescued = row["error_code"] == "LEASE_EXPIRED" and "was lost" in row["error_message"]
    return RunFact(
        id=row["id"],
        job=row["job"],
        slot=row["scheduled_at"],
        status=row["status"],
        final=row["finished_at"] is not None,
        token=str(row["fencing_token"]),
        by_agent=row["runs_on"] is not None,
        vouched_at=row["heartbeat_at"] if rescued else None,
        rescued_at=row["finished_at"] if rescued else None,
    )
