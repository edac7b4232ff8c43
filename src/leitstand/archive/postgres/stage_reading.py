"""Checks or unpacks several stages: large ones side by side, in processes of their own.

Python's lock would let threads read hardly more than one archive at a time. The processes get
their stages at the start, the largest dealt out first; what they found comes back in a file.
"""

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.hindrance import HindranceError
from leitstand.archive.postgres.extract import Targets, extract_verified
from leitstand.archive.postgres.program import run_program
from leitstand.archive.postgres.stage_check import Nowhere, StageCheck, StageReport
from leitstand.errors import LeitstandError
from leitstand.store.binaries import Binaries

WORTH = 64 << 20
"""Compressed bytes from which on processes pay: they take half a second to start."""

OnBytes = Callable[[Path, str, int], None]
"""Told the stage, the file, and how many compressed bytes were read; never twice at once."""


class StageProcessError(HindranceError):
    """A process that read a backup died, as when memory is short; says nothing about the backup."""

    code = "STAGE_PROCESS"


@dataclass(frozen=True)
class StageTask:
    """A stage to be checked, and unpacked if there are ``targets``; ``scratch`` is for WAL."""

    path: Path
    targets: Targets | None = None
    scratch: Path | None = None

    def carry_out(self, binaries: Binaries, on_bytes: Callable[[str, int], None]) -> StageReport:
        """Read it, in this thread; raises HindranceError, ExtractError."""
        if self.targets is None:
            return StageCheck(self.path, binaries, on_bytes, Nowhere(), self.scratch).run()
        return extract_verified(self.path, self.targets, binaries, on_bytes, self.scratch)

    @property
    def size(self) -> int:
        """The bytes of the stage's files; what cannot be asked now is found when it is read."""
        try:
            return sum(file.lstat().st_size for file in self.path.iterdir())
        except OSError:
            return 0


def read_stages(
    tasks: Sequence[StageTask], binaries: Binaries, on_bytes: OnBytes
) -> Iterator[StageReport]:
    """The reports in the order of the tasks. Who stops asking ends the work.

    What ``on_bytes`` raises ends it too. Raises HindranceError, ExtractError.
    """
    processes = min(len(os.sched_getaffinity(0)), len(tasks))
    if processes > 1 and sum(task.size for task in tasks) >= WORTH:
        yield from _side_by_side(tasks, processes, binaries, on_bytes)
        return
    for task in tasks:
        yield task.carry_out(binaries, _for_stage(task.path, on_bytes))


def _for_stage(path: Path, on_bytes: OnBytes) -> Callable[[str, int], None]:
    return lambda file, read: on_bytes(path, file, read)


def dealt_out(sizes: Sequence[int], hands: int) -> list[list[int]]:
    """The numbers of the items by hand: the largest first, each to whom has least so far."""
    dealt: list[list[int]] = [[] for _ in range(hands)]
    load = [0] * hands
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        hand = load.index(min(load))
        dealt[hand].append(number)
        load[hand] += sizes[number]
    return [sorted(numbers) for numbers in dealt]


def _side_by_side(
    tasks: Sequence[StageTask], processes: int, binaries: Binaries, on_bytes: OnBytes
) -> list[StageReport]:
    reports: dict[int, StageReport] = {}
    progress = _Progress(tasks, on_bytes)
    hands = dealt_out([task.size for task in tasks], processes)
    with ThreadPoolExecutor(processes) as pool:
        calls = [pool.submit(_in_process, tasks, hand, binaries, progress) for hand in hands]
        try:
            for call in as_completed(calls):
                reports.update(call.result())
        finally:
            progress.stop()
    return [report for _, report in sorted(reports.items())]


class _Progress:
    """Takes the processes' lines, one at a time; after ``stop`` whoever brings one is ended."""

    def __init__(self, tasks: Sequence[StageTask], on_bytes: OnBytes) -> None:
        self._tasks = tasks
        self._on_bytes = on_bytes
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        """Nobody wants to know any more."""
        self._stopped = True

    def on_line(self, line: str | None) -> bool:
        """See ``run_program``."""
        if self._stopped:
            raise StageProcessError("the work was given up")
        words = [] if line is None else line.split(" ")
        if len(words) != 4 or words[0] != PROGRESS:
            return False
        with self._lock:
            self._on_bytes(self._tasks[int(words[1])].path, words[2], int(words[3]))
        return True


PROGRESS = "read"
"""First word of a line of progress: then follow the task's number, the file and the bytes."""


@dataclass(frozen=True)
class Assignment:
    """What a process is told."""

    tasks: dict[int, StageTask]
    binaries: Binaries


Outcome = dict[int, StageReport] | LeitstandError
"""What it answers."""


def _in_process(
    tasks: Sequence[StageTask], numbers: Sequence[int], binaries: Binaries, progress: _Progress
) -> dict[int, StageReport]:
    assignment = Assignment({number: tasks[number] for number in numbers}, binaries)
    with _nameless() as told, _nameless() as answer:
        os.write(told, pickle.dumps(assignment))
        module = "leitstand.archive.postgres.stage_process"
        argv = [sys.executable, "-m", module, _path_of(told), _path_of(answer)]
        ended = run_program(argv, os.environ, progress.on_line)
        if ended.exit_code != 0:
            raise StageProcessError(
                f"a process that reads the backup has ended (status {ended.exit_code})",
                detail=ended.text or None,
                remedy="Look whether memory was short (dmesg), and try again.",
            )
        with open(_path_of(answer), "rb") as file:
            outcome: Outcome = pickle.load(file)  # noqa: S301 - from our own process
    if isinstance(outcome, LeitstandError):
        raise outcome
    return outcome


@contextmanager
def _nameless() -> Iterator[int]:
    """A file in memory, of which nothing is left whatever happens to us."""
    descriptor = os.memfd_create("leitstand-stages")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _path_of(descriptor: int) -> str:
    """By which another process of the same user opens it."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"
