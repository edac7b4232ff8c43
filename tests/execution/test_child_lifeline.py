"""Children do not outlive their server's right to run them: death, fencing, floods."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leitstand.execution.child import StopReason
from leitstand.execution.child_handle import Children
from tests.execution.processes import Started, bash, eventually, gone, parent, until

DEAF = """
trap '' TERM HUP INT
echo $$
sleep 1000 & echo $!
(setsid bash -c 'echo $$; sleep 1000' &)
wait
"""
FOREVER = "1e6"


@contextmanager
def server(fence: str, script: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs one child as a control server does."""
    program = Path(__file__).with_name("child_server.py")
    with subprocess.Popen(
        [sys.executable, str(program), fence, "bash", "-c", script],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def test_children_die_with_a_server_that_is_killed() -> None:
    """jobs case 11: kill -9 of the server, children deaf to signals and in another session."""
    with server(FOREVER, DEAF) as process:
        pids = [int(line) for line in lines(process, 3)]
        process.kill()
        until(lambda: gone(*pids))


def test_children_of_a_stopped_server_die_when_its_right_ends() -> None:
    """jobs cases 27, 49: SIGSTOP, so that nothing in the server can act."""
    with server("2", DEAF) as process:
        pids = [int(line) for line in lines(process, 3)]
        process.send_signal(signal.SIGSTOP)
        until(lambda: gone(*pids))
        process.send_signal(signal.SIGCONT)
        end = json.loads(lines(process, 1)[0])
    assert (end["stop"], end["exit_code"]) == ("fenced", None)


def test_a_command_dies_with_its_guard_when_nobody_else_can_act() -> None:
    """jobs case 11: the guard is killed while the server is stopped."""
    with server(FOREVER, "trap '' TERM HUP INT; echo $$; sleep 1000 >/dev/null") as process:
        pid = int(lines(process, 1)[0])
        process.send_signal(signal.SIGSTOP)
        os.kill(parent(pid), signal.SIGKILL)
        until(lambda: gone(pid))
        process.send_signal(signal.SIGCONT)
        process.wait(15)  # it kills what the command has left


async def test_a_child_gets_what_is_left_when_it_is_added() -> None:
    """jobs case 49: the claim is limited before its child exists."""
    children, began = Children(), time.monotonic()
    children.renew(Started.RUN, 0.5)
    started = Started(bash(DEAF), children)
    pids = await started.pids(3)
    child = await started.end()
    assert (child.stop, gone(*pids)) == (StopReason.FENCED, True)
    assert time.monotonic() - began >= 0.5


async def test_renewals_extend_and_shorten_what_is_left() -> None:
    children = Children()
    children.renew(Started.RUN, 2.0)
    started = Started(bash("echo $$; sleep 2.1; echo alive; sleep 1000"), children)
    await started.pids(1)
    children.renew(Started.RUN, 60)
    await eventually(lambda: "alive" in started.lines)
    children.renew(Started.RUN, 0.01)
    assert (await started.end()).stop is StopReason.FENCED


@pytest.mark.parametrize("how", ["late", "killed"])
async def test_a_run_that_is_over_starts_nothing_more(how: str, tmp_path: Path) -> None:
    """jobs case 3: between the loss of the lease and the start of the next child."""
    children = Children()
    if how == "late":
        children.renew(Started.RUN, -1)
    else:
        children.kill(Started.RUN)
    started = Started(bash(f"touch {tmp_path}/mark"), children)
    child = await started.end()
    assert child.stop is (StopReason.FENCED if how == "late" else StopReason.KILLED)
    assert (child.exit_code, child.signal, list(tmp_path.iterdir())) == (None, None, [])


async def test_forget_leaves_nothing_behind() -> None:
    children = Children()
    children.renew(Started.RUN, -1)
    children.kill(Started.RUN)
    children.forget(Started.RUN)
    assert (await Started(bash("exit 4"), children).end()).exit_code == 4


async def test_killing_needs_no_event_loop() -> None:
    """jobs case 7: ``until`` blocks the loop until the child is gone."""
    children = Children()
    started = Started(bash(DEAF), children)
    pids = await started.pids(3)
    children.kill(Started.RUN)
    until(lambda: gone(*pids))
    assert (await started.end()).stop is StopReason.KILLED
    children.kill(Started.RUN)  # harmless: the child is over
    children.renew(Started.RUN, 1)


FLOOD = """
yes 'a line of text' | head -c 200000000
head -c 50000000 /dev/zero | tr '\\0' x
head -c 50000000 /dev/urandom
printf '\\nthe end'
"""


def test_a_flood_changes_nothing() -> None:
    """jobs cases 7, 68: 200 MB of lines, one line of 50 MB, 50 MB of binary."""
    with server(FOREVER, FLOOD) as process:
        *log, last = process.communicate(timeout=30)[0].splitlines()
    end = json.loads(last)
    assert (end["exit_code"], end["size"], end["kept"]) == (0, 300_000_008, 128 * 1024)
    assert log[0] == "a line of text"
    assert log[-1] == "the end"
    assert sum("bytes left out" in line for line in log) == 1
    assert sum(map(len, log)) < 900_000  # what a run's log can hold
    assert end["grown_kib"] < 16 * 1024
    assert end["lag"] < 1.0
