"""The thread beside one child: starts its guard, takes in its output, waits for its end."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path

from leitstand.execution.child import ChildError, ChildResult, ChildSpec, GuardReport
from leitstand.execution.child_handle import ChildHandle
from leitstand.execution.output import BoundedCapture, LineSplitter, LogLimits

GUARD = Path(__file__).with_name("guard.py")
CHUNK = 256 * 1024
"""Bytes of a pipe's buffer and of a read: with the usual 64 KiB twice the switches of context."""
DRAIN_LIMIT = 4 * CHUNK
"""Bytes read after the guard's end, in case something unkillable still writes."""
GUARD_EXIT_PATIENCE = 7.0
"""Seconds; more than the guard itself gives those that it kills."""

OnLine = Callable[[str], bool | None]
OnStdout = Callable[[bytes], None]


@dataclass(frozen=True)
class Intake:
    """Where a child's output goes; see run_child."""

    on_line: OnLine
    on_stdout: OnStdout | None
    limits: LogLimits


class Pump:
    """Carries one child through its life; ``run`` blocks until it is over.

    A thread and not the event loop: a flood of output then delays nobody, and a loop that hangs
    does not stop the child's output or its end from being taken care of.
    """

    def __init__(
        self,
        spec: ChildSpec,
        handle: ChildHandle,
        intake: Intake,
    ) -> None:
        self._spec = spec
        self._handle = handle
        self._capture = BoundedCapture()
        self._lines = LineSplitter(intake.on_line, intake.limits)
        self._on_stdout = intake.on_stdout
        self._told = bytearray()
        self._poll = select.poll()
        self._sinks: dict[int, Callable[[bytes], None]] = {}

    def run(self) -> ChildResult:
        """Start, take in, wait. Raises ChildError, or what a callback raised; no child is left."""
        began = time.monotonic()
        with ExitStack() as stack:
            stack.callback(self._handle.close)
            guard, result = self._start(stack)
            try:
                self._take_in(guard, result)
            finally:
                self._end(guard)
        self._lines.finish()
        report = GuardReport.parse(bytes(self._told))
        if report.ended is None:
            raise self._guard_died(guard.returncode)
        return report.result(self._capture.captured(), time.monotonic() - began)

    def _start(self, stack: ExitStack) -> tuple[subprocess.Popen[bytes], int]:
        with ExitStack() as theirs:
            theirs.callback(self._handle.close_guard_end)
            try:
                return self._spawn(stack, theirs)
            except OSError as error:
                raise ChildError(
                    f"no process could be started: {error.strerror}",
                    remedy="Look at the limits for processes, open files and memory.",
                ) from error

    def _spawn(self, stack: ExitStack, theirs: ExitStack) -> tuple[subprocess.Popen[bytes], int]:
        output = self._pipe(stack, theirs, self._take_output)
        stdout = output
        if self._on_stdout is not None:
            stdout = self._pipe(stack, theirs, self._on_stdout)
        result, result_end = self._ends(stack, theirs)
        self._listen(result, self._told.extend)
        command = _memory_file(theirs, self._spec.encoded())
        stdin = subprocess.DEVNULL
        if self._spec.stdin is not None:
            stdin = _memory_file(theirs, self._spec.stdin)
        passed = (self._handle.guard_end, result_end, command)
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), *map(str, passed)],
            stdin=stdin,
            stdout=stdout,
            stderr=output,
            pass_fds=passed,
            env={},
            start_new_session=True,
        )
        return guard, result

    def _ends(self, stack: ExitStack, theirs: ExitStack) -> tuple[int, int]:
        read_end, write_end = os.pipe()
        stack.callback(os.close, read_end)
        theirs.callback(os.close, write_end)
        return read_end, write_end

    def _pipe(self, stack: ExitStack, theirs: ExitStack, sink: Callable[[bytes], None]) -> int:
        read_end, write_end = self._ends(stack, theirs)
        try:
            fcntl(write_end, F_SETPIPE_SZ, CHUNK)
        except PermissionError:  # this user's pipes have reached their limit: the small one does
            pass
        self._listen(read_end, sink)
        return write_end

    def _listen(self, fd: int, sink: Callable[[bytes], None]) -> None:
        os.set_blocking(fd, False)
        self._sinks[fd] = sink
        self._poll.register(fd, select.POLLIN)

    def _take_output(self, data: bytes) -> None:
        self._capture.feed(data)
        self._lines.feed(data)

    def _take_in(self, guard: subprocess.Popen[bytes], result: int) -> None:
        while result in self._sinks and not self._handle.overdue():
            for fd, _ in self._poll.poll(1000):
                self._read(fd)
        if result in self._sinks:  # overdue: stopped by someone, most likely
            guard.kill()
        for fd in tuple(self._sinks):
            self._drain(fd)

    def _read(self, fd: int) -> int:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return 0
        if data:
            self._sinks[fd](data)
        else:
            self._poll.unregister(fd)
            del self._sinks[fd]
        return len(data)

    def _drain(self, fd: int) -> None:
        left = DRAIN_LIMIT
        while left > 0 and (size := self._read(fd)):
            left -= size

    def _end(self, guard: subprocess.Popen[bytes]) -> None:
        self._handle.close()
        try:
            guard.wait(GUARD_EXIT_PATIENCE)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()
        report = GuardReport.parse(bytes(self._told))
        if report.ended is None and report.pid is not None:
            _kill_session(report.pid)

    def _guard_died(self, status: int) -> ChildError:
        return ChildError(
            f"the supervisor of {self._spec.argv[0]} ended with status {status} before its command",
            detail=self._capture.captured().text()[-4000:] or None,
            remedy="Something killed it; the command was killed with it. Look at the system's log.",
        )


def _memory_file(theirs: ExitStack, content: bytes) -> int:
    fd = os.memfd_create("leitstand")
    theirs.callback(os.close, fd)
    with open(fd, "wb", closefd=False) as target:
        target.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _kill_session(leader: int) -> None:
    """Kill what is left of a command whose guard was killed, by its session.

    The command itself has died with its guard (parent-death signal). The number stays taken while
    one of its processes is left, so it names strangers only if all were gone and it has come round
    within the same moment.
    """
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _session_of(entry) == leader:
            try:
                os.kill(int(entry.name), 9)
            except (ProcessLookupError, PermissionError):
                pass


def _session_of(entry: Path) -> int:
    try:
        return int((entry / "stat").read_bytes().rpartition(b")")[2].split()[3])
    except OSError:
        return -1
