"""The numbers that govern a control server's loop, checked against each other."""

from dataclasses import dataclass

from leitstand.errors import UsageError
from leitstand.execution import FENCE_SHARE


@dataclass(frozen=True)
class LoopSettings:
    """All in seconds but ``max_concurrent_runs``; every value is positive."""

    tick: float = 10.0
    max_concurrent_runs: int = 4
    heartbeat: float = 30.0
    stale_after: float = 300.0
    shutdown_grace: float = 30.0
    late_grace: float = 60.0
    listen: bool = True

    def __post_init__(self) -> None:
        if self.stale_after <= self.heartbeat:
            raise UsageError(
                f"loop.stale_after ({self.stale_after:g} s) must be greater than "
                f"loop.heartbeat ({self.heartbeat:g} s)",
                code="INVALID_SETTINGS",
                remedy="Otherwise every healthy server would be taken for dead between two beats.",
            )

    @property
    def fence_after(self) -> float:
        """Seconds without a committed heartbeat after which a run is killed by its owner."""
        return self.stale_after * FENCE_SHARE

    @property
    def late_tolerance(self) -> float:
        """Seconds that an occurrence may start late without counting as missed."""
        return self.tick + self.late_grace
