"""A helper process that forks workers on request, so that killing one costs no start of Python."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).parents[1]


def serve(work: Callable[[str], str]) -> None:
    """In the helper: for each line of standard input, do ``work`` on it in a process of its own.

    Its id is printed at once, and what it returns in the end; an empty line if it was killed.
    """
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            print(work(line.strip()), flush=True)
            os._exit(0)
        print(pid, flush=True)
        if os.waitpid(pid, 0)[1] != 0:
            print(flush=True)


def die_after(number: int) -> None:
    """In a worker: kill this process right after statement ``number``; 0: before the first.

    A transaction that the statement belongs to is not committed then.
    """
    execute, done = psycopg.AsyncCursor.execute, 0

    async def counting(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal done
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await execute(self, *arguments, **options)
        done += 1
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    psycopg.AsyncCursor.execute = counting  # type: ignore[method-assign]


class Forker:
    """The helper as the test sees it: one worker at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self, request: str) -> int:
        """Begin some work; its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        return int(self.end())

    def end(self) -> str:
        """Wait for the worker's end; what it returned."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def kill_after(self, pid: int, seconds: float) -> None:
        """Kill the worker then, if it still runs; when it hits is what such a test is about."""
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, 9)
        self.end()


@contextmanager
def forker(module: str, *arguments: str) -> Iterator[Forker]:
    """The helper ``module``, which calls ``serve``."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Forker(process)
        finally:
            process.kill()
