"""A task that this agent has taken and carries out."""

from leitstand.agent_protocol import Task
from leitstand.execution import Children, HeldRun


class TaskRun(HeldRun):
    """A held run with what the server said about it; ``instance`` is to whom it was given."""

    def __init__(
        self, task: Task, instance: str, vouched_at: float, fence_after: float, children: Children
    ) -> None:
        super().__init__(task.claim.lease, vouched_at, fence_after, children)
        self.task = task
        self.instance = instance
