"""Stops a child from any thread, also when the event loop hangs."""

import os
import threading
import time

from leitstand.execution.child import ChildError

KILL_PATIENCE = 10.0
"""Seconds after which a guard that should have killed everything is itself killed."""


class ChildHandle:
    """The server's end of a guard's control pipe.

    Every call returns at once, may come from any thread and at any time, and does nothing once
    the child is gone.
    """

    def __init__(self, grace: float) -> None:
        try:
            self.guard_end, control = os.pipe()
        except OSError as error:
            raise ChildError(f"no pipe for a child process: {error.strerror}") from error
        os.set_blocking(control, False)  # a guard that does not read must not stop a heartbeat
        self._control: int | None = control
        self._grace = grace
        self._lock = threading.Lock()
        self._give_up_at: float | None = None

    def terminate(self) -> None:
        """SIGTERM to the command's group, after the grace SIGKILL to all descendants."""
        self._expect_end(self._grace + KILL_PATIENCE)
        self._send(b"t\n")

    def kill_now(self) -> None:
        """SIGKILL to the command and all descendants, without a grace."""
        self._expect_end(KILL_PATIENCE)
        self._send(b"k\n")

    def renew(self, seconds: float) -> None:
        """Let the guard kill everything by itself unless this is called again within ``seconds``.

        This fences the child also when this process is stopped or starved and cannot kill it. The
        guard is told a time, not a duration: one that reads late must not take it for longer.
        """
        self._send(b"r %f\n" % (time.clock_gettime(time.CLOCK_BOOTTIME) + seconds))

    def overdue(self) -> bool:
        """Whether the guard should have ended by now, a stop having been asked for."""
        return self._give_up_at is not None and time.monotonic() > self._give_up_at

    def close(self) -> None:
        """Let go of the guard, which ends it if it is still there."""
        with self._lock:
            if self._control is not None:
                os.close(self._control)
                self._control = None

    def close_guard_end(self) -> None:
        """Close what the guard has inherited by now; it is called exactly once."""
        os.close(self.guard_end)

    def _expect_end(self, seconds: float) -> None:
        at = time.monotonic() + seconds
        with self._lock:
            self._give_up_at = at if self._give_up_at is None else min(at, self._give_up_at)

    def _send(self, request: bytes) -> None:
        with self._lock:
            if self._control is None:
                return
            try:
                os.write(self._control, request)
            except (BrokenPipeError, BlockingIOError):
                pass  # it has ended, or it hangs and will be killed as overdue


class Children:
    """The children of each run of this server, for those who must stop them without the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handles: dict[int, list[ChildHandle]] = {}
        self._renewed_until: dict[int, float] = {}
        self._killed: set[int] = set()

    def add(self, run_id: int, handle: ChildHandle) -> None:
        """Remember a child; it gets what the run has left, nothing if that has been killed."""
        with self._lock:
            self._handles.setdefault(run_id, []).append(handle)
            killed = run_id in self._killed
            until = self._renewed_until.get(run_id)
            # Under the lock, so that no later renewal is overtaken by this one.
            if until is not None:
                handle.renew(until - time.monotonic())
        if killed:
            handle.kill_now()

    def kill(self, run_id: int) -> None:
        """Kill what the run has started and whatever it may still start."""
        with self._lock:
            self._killed.add(run_id)
            handles = tuple(self._handles.get(run_id, ()))
        for handle in handles:
            handle.kill_now()

    def kill_all(self) -> None:
        """Kill what all runs have started."""
        with self._lock:
            handles = [handle for found in self._handles.values() for handle in found]
        for handle in handles:
            handle.kill_now()

    def renew(self, run_id: int, seconds: float) -> None:
        """Let the run's children, also those to come, live for ``seconds`` from now.

        Call it before the first child and after each heartbeat that was committed; a run for which
        it was never called is not limited. See ChildHandle.renew.
        """
        with self._lock:
            self._renewed_until[run_id] = time.monotonic() + seconds
            for handle in self._handles.get(run_id, ()):
                handle.renew(seconds)

    def forget(self, run_id: int) -> None:
        """The run is over, and nothing about it is kept."""
        with self._lock:
            self._handles.pop(run_id, None)
            self._renewed_until.pop(run_id, None)
            self._killed.discard(run_id)
