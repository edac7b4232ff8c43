"""Programs and all that they start end with whoever ran them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leitstand.archive.postgres.program import LINES_KEPT, run_program

ENV = {"PATH": os.environ["PATH"]}
FORKS = ("/bin/sh", "-c", "sleep 600 & echo $!; sleep 600")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int, patience: float = 5.0) -> None:
    until = time.monotonic() + patience
    while alive(pid):
        assert time.monotonic() < until, f"process {pid} is still there"
        time.sleep(0.01)


def test_exit_code_and_last_lines() -> None:
    """Case 47."""
    ended = run_program(("/bin/sh", "-c", "seq 100; echo bad >&2; exit 7"), ENV, lambda _: False)
    assert ended.exit_code == 7
    assert ended.lines[-1] == "bad"
    assert len(ended.lines) == LINES_KEPT


def test_lines_may_end_with_carriage_returns_and_be_taken() -> None:
    seen = []

    def take(line: str | None) -> bool:
        seen.append(line)
        return line == "one"

    ended = run_program(("/usr/bin/printf", "one\\rtwo\\nthree"), ENV, take)
    assert [line for line in seen if line] == ["one", "two", "three"]
    assert ended.lines == ("two", "three")


def test_what_the_callback_raises_ends_the_program_and_its_children() -> None:
    pids = []

    def stop(line: str | None) -> bool:
        if line is not None:
            pids.append(int(line))
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        run_program(FORKS, ENV, stop)
    wait_until_gone(pids[0])


def test_a_child_that_holds_the_output_does_not_keep_us() -> None:
    argv = ("/bin/sh", "-c", "sleep 600 & echo $!")
    pids = []
    ended = run_program(argv, ENV, lambda line: pids.append(line) or False)  # type: ignore[func-returns-value]
    assert ended.exit_code == 0
    wait_until_gone(int(ended.lines[0]))


def test_the_deadline_ends_it() -> None:
    with pytest.raises(TimeoutError):
        run_program(FORKS, ENV, lambda _: False, deadline=0.1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_everything_ends_when_the_caller_is_killed(how: signal.Signals) -> None:
    """Case 26."""
    script = (
        "from leitstand.archive.postgres.program import run_program\n"
        f"run_program({FORKS!r}, {{}}, lambda line: line and print(line, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        grandchild = int(caller.stdout.readline())
        assert alive(grandchild)
        caller.send_signal(how)
    wait_until_gone(grandchild)
