"""The process that checks or unpacks some stages of a generation for ``stage_reading``.

Started as ``python -m … TOLD ANSWER``, two files; progress goes to standard output. Whoever started
it ends it with all that it has started (``run_program``).
"""

import pickle
import sys
import time
from pathlib import Path

from leitstand.archive.postgres.stage_reading import PROGRESS, Assignment, Outcome
from leitstand.errors import LeitstandError

INTERVAL = 0.2
"""Seconds between two lines of progress."""


def main(told: Path, answer: Path) -> None:
    """Carry out what is told, and answer."""
    assignment: Assignment = pickle.loads(told.read_bytes())  # noqa: S301 - from our own process
    answer.write_bytes(pickle.dumps(_outcome(assignment)))


def _outcome(assignment: Assignment) -> Outcome:
    reports = {}
    try:
        for number, task in assignment.tasks.items():
            teller = _Teller(number)
            reports[number] = task.carry_out(assignment.binaries, teller.tell)
            teller.tell_all()
    except LeitstandError as error:
        return error
    return reports


class _Teller:
    """Tells how many bytes of each file of a stage were read, now and then."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waiting: dict[str, int] = {}
        self._due = 0.0

    def tell(self, file: str, read: int) -> None:
        self._waiting[file] = self._waiting.get(file, 0) + read
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + INTERVAL
            self.tell_all()

    def tell_all(self) -> None:
        for file, read in self._waiting.items():
            sys.stdout.write(f"{PROGRESS} {self._number} {file} {read}\n")
        sys.stdout.flush()
        self._waiting.clear()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
