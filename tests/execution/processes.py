"""Starts children and looks at processes from outside, for tests of what is left of them."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.execution.child import ChildResult, ChildSpec
from leitstand.execution.child_handle import ChildHandle, Children
from leitstand.execution.process import run_child

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENV = {"PATH": PATH}


def until(condition: Callable[[], object], deadline: float = 15.0) -> None:
    """Wait until ``condition`` holds; fails after ``deadline`` seconds."""
    end = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < end, f"not within {deadline} s: {condition}"
        time.sleep(0.01)


async def eventually(condition: Callable[[], object], deadline: float = 15.0) -> None:
    """``until`` for the event loop, which goes on meanwhile."""
    async with asyncio.timeout(deadline):
        while not condition():
            await asyncio.sleep(0.005)


def bash(script: str, **limits: float) -> ChildSpec:
    """A command for bash; ``limits`` are fields of ChildSpec."""
    return ChildSpec(["bash", "-c", script], ENV, **limits)  # type: ignore[arg-type]


class Started:
    """A child under way: its handle, its lines as they come, its end."""

    RUN = 7

    def __init__(self, spec: ChildSpec, children: Children | None = None) -> None:
        self.lines: list[str] = []
        self.handle: ChildHandle
        self._children = children or Children()
        self.task = asyncio.create_task(
            run_child(spec, on_line=self.lines.append, on_start=self._on_start)
        )

    def _on_start(self, handle: ChildHandle) -> None:
        self.handle = handle
        self._children.add(self.RUN, handle)

    async def pids(self, count: int) -> list[int]:
        """The first ``count`` lines, each a process id."""
        await eventually(lambda: len(self.lines) >= count or self.task.done())
        return [int(line) for line in self.lines[:count]]

    async def end(self) -> ChildResult:
        """How it ended."""
        async with asyncio.timeout(15):
            return await self.task


def state(pid: int) -> str:
    """The state's letter in proc_pid_stat(5), X for a process that is gone."""
    return _stat(pid)[0]


def parent(pid: int) -> int:
    """The parent's process id."""
    return int(_stat(pid)[1])


def gone(*pids: int) -> bool:
    """Whether none of them runs any more (a zombie that init has not collected is gone too)."""
    return all(state(pid) in "ZX" for pid in pids)


def children() -> list[int]:
    """This process's children, zombies included."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if parent(pid) == os.getpid()]


def open_descriptors() -> int:
    """How many this process has."""
    return len(os.listdir("/proc/self/fd"))


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["X", "-1"]


@contextmanager
def at_default(number: signal.Signals) -> Iterator[None]:
    """The signal does what it does by default, also where the tests were started under nohup."""
    former = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, former)
