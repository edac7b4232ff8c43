"""Carries a control server's heartbeats to the database, on a connection of their own."""

import time
from collections.abc import Callable, Sequence

import psycopg
import structlog
from psycopg.rows import dict_row

from leitstand.execution import BEAT_DEADLINE, Beat, Lease
from leitstand.store.connection import Connection, connection_options
from leitstand.store.database import DatabaseUnavailableError, load_queries

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

SKEW_LIMIT = 5.0
"""Seconds between this machine's clock and the database's above which a warning is due."""


class DatabasePulse:
    """The pulse of the control server ``instance``."""

    def __init__(
        self, conninfo: str, instance: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._conninfo = conninfo
        self._instance = instance
        self._clock = clock
        self._connection: Connection | None = None

    async def beat(self, leases: Sequence[Lease]) -> Beat:
        """One heartbeat: for the server, then for its runs."""
        try:
            connection = await self._connected()
            sign = await queries.sign_of_life(
                connection, instance=self._instance, own_clock=self._clock()
            )
            runs = await beat_runs(connection, self._instance, leases)
        except psycopg.Error as error:
            raise DatabaseUnavailableError(str(error).strip() or type(error).__name__) from error
        if sign is not None and abs(sign["clock_skew"]) > SKEW_LIMIT:
            seconds = round(sign["clock_skew"], 1)
            log.warning("clocks differ; the database's decides", seconds=seconds)
        return Beat(sign is not None, sign is not None and sign["draining"], *runs)

    async def disconnect(self) -> None:
        """See Pulse."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await Connection.connect(
                self._conninfo, row_factory=dict_row, **connection_options(BEAT_DEADLINE)
            )
            await self._connection.execute(f"SET statement_timeout = {int(BEAT_DEADLINE * 1000)}")
        return self._connection


async def beat_runs(
    connection: Connection, owner: str, leases: Sequence[Lease]
) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """Vouch for the owner's runs: which it holds, which of them were vouched for, are to stop."""
    row = await queries.beat_runs(
        connection,
        owner=owner,
        ids=[lease.run_id for lease in leases],
        tokens=[lease.fencing_token for lease in leases],
    )
    return frozenset(row["held"]), frozenset(row["beaten"]), frozenset(row["cancelled"])
