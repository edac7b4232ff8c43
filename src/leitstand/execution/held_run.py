"""A run that this process holds a lease on: how to stop it, and when it was last vouched for."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from leitstand.execution.child_handle import Children


@dataclass(frozen=True)
class Lease:
    """A claim on a run; writes that carry an outdated token change nothing."""

    run_id: int
    fencing_token: int


class HaltReason(StrEnum):
    """Why a run is being stopped from outside."""

    PERSON = "person"
    SHUTDOWN = "shutdown"
    LEASE_LOST = "lease_lost"


class HeldRun:
    """One claimed run. Its calls may come from any thread, also while the loop is blocked.

    ``vouched_at`` is the monotonic time before which the last committed heartbeat was sent; after
    ``fence_after`` seconds without another the run may not go on. Children are told this limit,
    too, and end by themselves when this whole process is stopped. ``executing`` ends with the
    executor; the lease is held until the outcome is written.
    """

    def __init__(
        self, lease: Lease, vouched_at: float, fence_after: float, children: Children
    ) -> None:
        self.lease = lease
        self.vouched_at = vouched_at
        self.stop_reason: HaltReason | None = None
        self.executing = True
        self._fence_after = fence_after
        self._children = children
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        children.renew(self.lease.run_id, self.left())

    def attach(self, task: asyncio.Task[None]) -> None:
        """Say which task carries the run out."""
        self._task = task

    def left(self) -> float:
        """Seconds that the run may still go on without another heartbeat; at least 0."""
        return max(0.0, self.vouched_at + self._fence_after - time.monotonic())

    def vouch(self, at: float) -> None:
        """A heartbeat that was sent after ``at`` (monotonic seconds) has been committed."""
        self.vouched_at = at
        if self.executing:
            self._children.renew(self.lease.run_id, self.left())

    def stop(self, reason: HaltReason) -> None:
        """Cancel the work; for a lost lease its children are killed first and at once.

        The first reason stands, except that a lost lease outweighs the others. Once the executor is
        done there is nothing to cancel: what follows is the delivery of its outcome.
        """
        with self._lock:
            if self.stop_reason is None or reason is HaltReason.LEASE_LOST:
                self.stop_reason = reason
        if reason is HaltReason.LEASE_LOST:
            self._children.kill(self.lease.run_id)
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and self.executing:
            self._task.cancel()

    def ended(self) -> None:
        """The executor is done; what it started is gone."""
        self.executing = False
        self._children.forget(self.lease.run_id)


H = TypeVar("H", bound=HeldRun)


class HeldRuns(Generic[H]):
    """The runs that this process holds; shared by the event loop and the heartbeat's thread."""

    def __init__(self) -> None:
        self._runs: dict[int, H] = {}
        self._lock = threading.Lock()

    def add(self, held: H) -> None:
        """Hold a run from now on."""
        with self._lock:
            self._runs[held.lease.run_id] = held

    def remove(self, held: H) -> None:
        """The run's end is written, or its lease is gone."""
        with self._lock:
            self._runs.pop(held.lease.run_id, None)

    def get(self, run_id: int) -> H | None:
        """The held run of that id, if it is ours."""
        with self._lock:
            return self._runs.get(run_id)

    def __iter__(self) -> Iterator[H]:
        with self._lock:
            return iter(tuple(self._runs.values()))

    def __len__(self) -> int:
        with self._lock:
            return len(self._runs)
