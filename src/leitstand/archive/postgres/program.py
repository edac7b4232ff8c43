"""Runs one of PostgreSQL's programs so that nothing of it outlives its caller.

The program gets a process group of its own, in which a watcher waits for the caller's death: a
shell that reads a pipe of which only the caller holds the other end. Its end of file means that the
caller is gone, whatever killed it, and the watcher kills the group. A parent-death signal would not
do: it does not reach what the program forks (pg_basebackup's WAL receiver), and it fires when the
*thread* that started the program ends.
"""

import os
import re
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

TICK = 0.5
"""Seconds after which ``report`` is called even if the program says nothing."""

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL when a program is given up."""

LINES_KEPT = 40
LINE_LIMIT = 1000
_READ_SIZE = 1 << 16
_WATCHER = ("/bin/sh", "-c", "read -r _; kill -KILL 0")
_ENDS = re.compile(rb"[\r\n]+")


@dataclass(frozen=True)
class Ended:
    """How a program ended: exit code (negative: the signal) and the last lines that it wrote."""

    exit_code: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The last lines as one text."""
        return "\n".join(self.lines)


OnLine = Callable[[str | None], bool]
"""Is given each line, and None at least every TICK seconds; True: the line need not be kept."""


def run_program(
    argv: Sequence[str], env: Mapping[str, str], on_line: OnLine, *, deadline: float | None = None
) -> Ended:
    """Run ``argv`` to its end with exactly the environment ``env`` and standard input closed.

    Whatever ``on_line`` raises ends the program and its group and is raised again, as are
    KeyboardInterrupt and the like; TimeoutError after ``deadline`` seconds. Nothing of the program
    is left in any case. Blocks; call it from any thread.
    """
    until = None if deadline is None else time.monotonic() + deadline
    with _group() as group:
        process = subprocess.Popen(
            argv,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            process_group=group,
        )
        lines = _Lines(on_line)
        with process:
            try:
                _read_until_it_ends(process, lines, until)
            except BaseException:
                _stop(process, group)
                raise
            finally:
                _kill_rest(process, group)
        return Ended(process.returncode, lines.kept())


@contextmanager
def _group() -> Iterator[int]:
    """A process group that dies with us; the watcher, not yet waited for, keeps its number ours."""
    readable, writable = os.pipe()
    try:
        watcher = subprocess.Popen(
            _WATCHER,
            env={},
            stdin=readable,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,
        )
    except BaseException:
        os.close(writable)
        raise
    finally:
        os.close(readable)
    try:
        with watcher:
            try:
                yield watcher.pid
            finally:
                watcher.kill()
    finally:
        os.close(writable)


class _Lines:
    """Cuts output into lines (progress uses carriage returns) and keeps the last ones."""

    def __init__(self, on_line: OnLine) -> None:
        self._on_line = on_line
        self._rest = b""
        self._kept: deque[str] = deque(maxlen=LINES_KEPT)

    def take(self, data: bytes) -> None:
        *lines, self._rest = _ENDS.split(self._rest + data)
        self._rest = self._rest[-_READ_SIZE:]
        for line in lines:
            self._one(line)

    def tick(self) -> None:
        self._on_line(None)

    def finish(self) -> None:
        rest, self._rest = self._rest, b""
        self._one(rest)

    def kept(self) -> tuple[str, ...]:
        return tuple(self._kept)

    def _one(self, line: bytes) -> None:
        text = line[:LINE_LIMIT].decode("utf-8", "backslashreplace").strip()
        if text and not self._on_line(text):
            self._kept.append(text)


def _read_until_it_ends(
    process: subprocess.Popen[bytes], lines: _Lines, until: float | None
) -> None:
    """Read until the program itself has ended: a child of its may hold the pipe for longer."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    fd = process.stdout.fileno()
    os.set_blocking(fd, False)
    open_still = True
    while process.poll() is None:
        if open_still and select.select([fd], [], [], TICK)[0]:
            open_still = _read_some(fd, lines)
        elif not open_still:
            _wait_a_moment(process)
        lines.tick()
        if until is not None and time.monotonic() > until:
            raise TimeoutError(f"{process.args!r} took too long")
    while open_still and select.select([fd], [], [], 0)[0]:
        open_still = _read_some(fd, lines)
    lines.finish()


def _read_some(fd: int, lines: _Lines) -> bool:
    data = os.read(fd, _READ_SIZE)
    lines.take(data)
    return bool(data)


def _wait_a_moment(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(TICK)
    except subprocess.TimeoutExpired:
        pass


def _stop(process: subprocess.Popen[bytes], group: int) -> None:
    """SIGTERM to all of the group, and some time to take it (pg_basebackup drops its slot)."""
    os.killpg(group, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass


def _kill_rest(process: subprocess.Popen[bytes], group: int) -> None:
    os.killpg(group, signal.SIGKILL)
    process.wait()
