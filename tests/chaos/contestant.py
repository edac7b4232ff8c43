"""Who can be put through a campaign."""

from pathlib import Path
from typing import Protocol

from tests.chaos.arena import Arena
from tests.chaos.verdict import Facts
from tests.jobs.server_processes import ServerProcess

STALE_AFTER = 2.0
TICK = 0.5
RESCUE_LIMIT = STALE_AFTER + 2 * TICK
"""Seconds from the last sign of life of a run to its release."""

HEARTBEAT = 0.3
PERIOD = 2
"""Seconds between two occurrences of each job."""

JOBS = 8
GROUPED = 4
"""Further jobs, in a group of which two may run at once."""

GROUP_LIMIT = 2

REMOTE = 6
"""Further jobs that agents carry out; two of them in that group, too."""


class Contestant(Protocol):
    """Servers that run jobs every PERIOD seconds which leave evidence."""

    async def hire(self, place: int, skew: float) -> ServerProcess:
        """Start a server for a place."""

    async def flood(self) -> object:
        """Have a job print far more than is kept."""

    async def prepare(self) -> None:
        """Create the jobs."""

    async def watch(self) -> None:
        """Note what is final, and compare it with what was noted before; called over and over."""

    async def finish(self) -> None:
        """Plan nothing more, and wait until all that is planned has ended, or should have."""

    async def facts(self, arena: Arena) -> Facts:
        """Everything, after the last server has ended."""


def marks(evidence: Path) -> list[str]:
    """The lines of the evidence."""
    return evidence.read_text().splitlines() if evidence.exists() else []
