"""A run that this control server has claimed and carries out."""

from leitstand.execution import Children, HeldRun
from leitstand.jobs.run import StartedRun


class ClaimedRun(HeldRun):
    """A held run with what its job said when it was claimed."""

    def __init__(
        self, started: StartedRun, vouched_at: float, fence_after: float, children: Children
    ) -> None:
        super().__init__(started.lease, vouched_at, fence_after, children)
        self.started = started
