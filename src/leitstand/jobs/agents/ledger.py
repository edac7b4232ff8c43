"""The ledger of agents: who is there, and the runs that they are given and tell about."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from psycopg.errors import UniqueViolation

from leitstand.agent_protocol import Claim, Hello, Report
from leitstand.errors import ConflictError
from leitstand.execution import RUN_LIMIT
from leitstand.jobs.agents.agent import AgentInfo
from leitstand.jobs.heartbeat import beat_runs
from leitstand.jobs.queue import queries as queue_queries
from leitstand.jobs.run import StartedRun
from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

FORGET_AFTER = 86400.0
"""Seconds after which a silent agent that holds nothing is no longer listed."""

AVOID_FOR = 30.0
"""Seconds for which the next attempt of a run waits for another agent than the last one's."""

TURNS = 0x4C53
"""The space of the advisory locks by which questions of one agent take turns ("LS")."""


@dataclass(frozen=True)
class GivenTask:
    """A run that an agent has been given."""

    started: StartedRun
    cancelled: bool


class Agents:
    """Agents by instance."""

    def __init__(self, database: Database, stale_after: float = 300.0) -> None:
        self._database = database
        self._stale_after = stale_after

    async def register(self, name: str, hello: Hello) -> str:
        """Add a process of the agent ``name``; returns its instance, which nobody else has or had.

        Raises ConflictError when one of its tags is the name of another module.
        """
        instance = f"{name}-{secrets.token_hex(4)}"
        async with self._database.transaction() as connection:
            taken = await queries.is_module(connection, words=list(hello.tags), name=name)
            if taken is not None:
                raise ConflictError(
                    f"the tag {taken['name']!r} is the name of another module",
                    remedy="Jobs may be bound to that module: give the agent another tag.",
                )
            await queries.forget_silent(connection, silent=FORGET_AFTER)
            await queries.register(
                connection,
                instance=instance,
                name=name,
                host=hello.host,
                pid=hello.pid,
                version=hello.version,
                kinds=list(hello.kinds),
                tags=list(hello.tags),
                slots=hello.slots,
            )
        return instance

    async def list_all(self) -> list[AgentInfo]:
        """All agents that have been seen within a day, by name."""
        async with self._database.connection() as connection:
            rows = queries.list_agents(connection, instance=None)
            return [AgentInfo.from_row(row) async for row in rows]

    async def find(self, instance: str) -> AgentInfo | None:
        """The agent's process of that name; None when it is not known any more."""
        async with self._database.connection() as connection:
            rows = queries.list_agents(connection, instance=instance)
            found = [AgentInfo.from_row(row) async for row in rows]
        return found[0] if found else None

    async def farewell(self, instance: str, held: Sequence[int]) -> None:
        """The process ends; its runs but those ``held`` are left to the next release."""
        async with self._database.connection() as connection:
            await queries.farewell(
                connection, instance=instance, held=list(held), stale=self._stale_after
            )

    async def waiting(self) -> list[tuple[str, tuple[str, ...]]]:
        """The kinds and words for which some run waits for an agent now."""
        async with self._database.connection() as connection:
            rows = queries.waiting_for_agents(connection)
            return [(row["kind"], tuple(row["runs_on"])) async for row in rows]

    # -- what they are given ------------------------------------------------------------------

    async def given(self, instance: str, run: int | None = None) -> list[GivenTask]:
        """The runs that the agent has now, or the one of that id also when it has ended."""
        async with self._database.connection() as connection:
            rows = queries.given_tasks(connection, instance=instance, run=run)
            return [GivenTask(StartedRun.from_row(row), row["cancelled"]) async for row in rows]

    async def start(self, instance: str) -> list[StartedRun]:
        """Claim queued runs for the agent's free slots; losing a race gives fewer, or none."""
        try:
            async with self._database.transaction() as connection:
                await queries.take_turn(connection, space=TURNS, instance=instance)
                await connection.execute(queue_queries.plan_for_queues.sql)
                await connection.execute(queue_queries.lock_groups.sql)
                rows = queries.start_tasks(
                    connection, instance=instance, patience=AVOID_FOR, stale=self._stale_after
                )
                return [StartedRun.from_row(row) async for row in rows]
        except UniqueViolation:
            log.debug("lost the race for a run", owner=instance)
            return []

    # -- what they say ------------------------------------------------------------------------

    async def beat(
        self, instance: str, claims: Sequence[Claim]
    ) -> tuple[bool, tuple[frozenset[int], frozenset[int], frozenset[int]]]:
        """Vouch for the agent and its runs: whether it is known, and what ``beat_runs`` says."""
        leases = [claim.lease for claim in claims]
        async with self._database.connection() as connection:
            runs = await beat_runs(connection, instance, leases)
            known = await queries.sign_of_life(connection, instance=instance)
        return known is not None, runs

    async def append(self, instance: str, reports: Sequence[Report]) -> dict[int, int]:
        """Add to the logs; up to where each is stored. Runs that the agent has lost are left out.

        Two calls with the same piece, also at the same time, store it once; of each run there may
        be one piece in a call.
        """
        documents = [
            {
                "id": report.claim.run,
                "token": report.claim.token,
                "position": report.position,
                "text": report.text,
            }
            for report in reports
        ]
        async with self._database.connection() as connection:
            rows = queries.append_reports(
                connection, instance=instance, reports=to_jsonb(documents), max_size=RUN_LIMIT
            )
            return {row["id"]: row["position"] async for row in rows}
