"""Children under a guard: how they start and end, and that nothing of them is left."""

import asyncio
import os
import signal
import statistics
import time
from pathlib import Path

import pytest

from leitstand.execution.child import ChildError, ChildSpec, SpawnStage, StopReason
from leitstand.execution.process import run_child
from tests.execution.processes import (
    ENV,
    Started,
    bash,
    children,
    gone,
    open_descriptors,
    parent,
    until,
)

ESCAPES = """
echo $$
sleep 1000 & echo $!
(setsid bash -c 'echo $$; sleep 1000' &)
wait
"""


async def test_output_exit_code_and_size() -> None:
    lines: list[str] = []
    child = await run_child(bash("echo out; echo err >&2; exit 3"), on_line=lines.append)
    assert (child.exit_code, child.signal, child.stop) == (3, None, StopReason.NONE)
    assert lines == ["out", "err"]
    assert (child.output.text(), child.output.size) == ("out\nerr\n", 8)


async def test_death_by_signal_is_no_exit_code() -> None:
    child = await run_child(bash("kill -KILL $$"))
    assert (child.exit_code, child.signal, child.stop) == (None, signal.SIGKILL, StopReason.NONE)


async def test_standard_input_is_given_whole_or_empty() -> None:
    data = os.urandom(300_000)  # more than a pipe holds
    spec = ChildSpec(["sha256sum"], ENV, stdin=data)
    unread = ChildSpec(["true"], ENV, stdin=data)
    empty = ChildSpec(["cat"], ENV)
    counted = await run_child(ChildSpec(["wc", "-c"], ENV, stdin=data))
    assert counted.output.text().strip() == "300000"
    assert [(await run_child(each)).exit_code for each in (spec, unread, empty)] == [0, 0, 0]


async def test_environment_is_exactly_what_was_given() -> None:
    child = await run_child(ChildSpec(["/usr/bin/env"], {"A": "1", "B": "x y\nz"}))
    assert child.output.text() == "A=1\nB=x y\nz\n"


async def test_descriptors_of_the_server_are_not_inherited() -> None:
    child = await run_child(ChildSpec(["ls", "/proc/self/fd"], ENV))
    assert child.output.text().split() == ["0", "1", "2", "3"]  # 3 is the directory itself


async def test_signals_act_as_usual_in_the_command() -> None:
    """Python ignores SIGPIPE, and whoever starts a server may block signals.

    What was ignored from the beginning, as under nohup, remains so.
    """
    ignored = [s for s in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT) if _is_ignored(s)]
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    try:
        child = await run_child(bash("grep -E 'SigBlk|SigIgn' /proc/self/status"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
    masks = [int(line.split()[1], 16) for line in child.output.text().splitlines()]
    # Signals 32 and 33 are the C library's own: a program cannot reset them.
    assert [mask & 0x7FFF_FFFF for mask in masks] == [0, sum(1 << (s - 1) for s in ignored)]


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


async def test_raw_standard_output_is_apart_from_the_lines() -> None:
    raw = bytearray()
    lines: list[str] = []
    child = await run_child(
        bash("printf 'a\\0b'; echo err >&2"), on_stdout=raw.extend, on_line=lines.append
    )
    assert (bytes(raw), lines, child.output.text()) == (b"a\0b", ["err"], "err\n")


def unexecutable(path: Path, content: str, mode: int) -> str:
    path.write_text(content)
    path.chmod(mode)
    return str(path)


async def test_what_cannot_start_says_why(tmp_path: Path) -> None:
    """jobs case 63: a failure of the start is none of the command."""
    plain = unexecutable(tmp_path / "plain", "true\n", 0o644)
    bad = unexecutable(tmp_path / "bad", "#!/nonexistent/interpreter\n", 0o755)
    nothing = unexecutable(tmp_path / "nothing", "true\n", 0o755)
    expected = {
        ("no-such-command-7",): (SpawnStage.EXEC, "No such file or directory"),
        (plain,): (SpawnStage.EXEC, "Permission denied"),
        (bad,): (SpawnStage.EXEC, "No such file or directory"),
        (nothing,): (SpawnStage.EXEC, "Exec format error"),
        (plain + "/below",): (SpawnStage.EXEC, "Not a directory"),
        ("true", "x" * 200_000): (SpawnStage.EXEC, "Argument list too long"),
    }
    for argv, (stage, reason) in expected.items():
        failure = (await run_child(ChildSpec(argv, ENV))).spawn_failure
        assert failure is not None, argv
        assert (failure.stage, failure.reason) == (stage, reason), argv
    child = await run_child(ChildSpec(["true"], ENV, cwd="/nonexistent"))
    assert child.spawn_failure is not None
    assert (child.spawn_failure.stage, child.exit_code) == (SpawnStage.CWD, None)


@pytest.mark.parametrize(
    "spec", [ChildSpec([], ENV), ChildSpec(["a\0b"], ENV), ChildSpec(["a"], {"=": ""})]
)
async def test_what_no_system_can_start_is_refused(spec: ChildSpec) -> None:
    with pytest.raises(ValueError, match=r"argument|environment"):
        await run_child(spec)


async def test_working_directory_counts_for_the_program_too(tmp_path: Path) -> None:
    unexecutable(tmp_path / "here", "#!/bin/sh\npwd\n", 0o755)
    child = await run_child(ChildSpec(["./here"], ENV, cwd=str(tmp_path)))
    assert child.output.text().strip() == str(tmp_path)


async def test_cancellation_ends_the_group_on_sigterm() -> None:
    """jobs case 59."""
    started = Started(bash("echo $$; sleep 1000 & echo $!; sleep 1000", grace=60))
    pids = await started.pids(2)
    started.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await started.end()
    assert gone(*pids)


async def test_what_ignores_sigterm_or_escapes_is_killed_after_the_grace() -> None:
    """jobs cases 58, 59: a double fork with setsid, and all of it deaf to SIGTERM."""
    started = Started(bash("trap '' TERM" + ESCAPES, grace=0.3))
    pids = await started.pids(3)
    started.handle.terminate()
    child = await started.end()
    assert gone(*pids)
    assert (child.stop, child.signal, child.unkillable) == (StopReason.STOPPED, 9, 0)
    assert (child.leftovers, child.escapees) == (0, 1)  # the group died with the command
    assert 0.3 <= child.duration < 5


async def test_what_is_killed_with_the_command_has_not_outlived_it() -> None:
    """Each takes a moment to be gone, more so on a busy machine, and is the guard's child then."""
    script = "trap '' TERM; for n in {1..150}; do sleep 1000 & done; echo $$; wait"
    started = Started(bash(script, grace=0.1))
    await started.pids(1)
    started.handle.terminate()
    child = await started.end()
    assert (child.leftovers, child.escapees, child.unkillable) == (0, 0, 0)


async def test_all_of_the_group_that_outlive_the_command_are_counted() -> None:
    """Those, too, that become the guard's children only when their parents are killed."""
    deep = "bash -c 'sleep 1000 & sleep 1000 & echo; wait'"
    both = f"exec 3< <({deep} & exec {deep}); read -u 3; read -u 3; exit 3"
    started = Started(bash(both, linger=0.1))
    child = await started.end()
    assert (child.exit_code, child.leftovers, child.escapees) == (3, 6, 0)


async def test_a_second_cancellation_kills_at_once() -> None:
    """jobs case 58: no waiting for the grace when asked twice."""
    started = Started(bash("trap '' TERM" + ESCAPES, grace=60))
    pids = await started.pids(3)
    started.task.cancel()
    await asyncio.sleep(0)
    started.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await started.end()
    assert gone(*pids)


async def test_cancellation_before_the_command_exists_starts_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    started = Started(bash(f"touch {mark}"))
    await asyncio.sleep(0)
    started.handle.kill_now()
    child = await started.end()
    if not mark.exists():
        assert (child.stop, child.exit_code) == (StopReason.KILLED, None)


async def test_time_to_clean_up_on_sigterm() -> None:
    script = "trap 'echo tidy; exit 5' TERM; echo $$; sleep 1000 & wait"
    started = Started(bash(script, grace=60))
    await started.pids(1)
    started.handle.terminate()
    child = await started.end()
    assert (child.stop, child.exit_code) == (StopReason.STOPPED, 5)
    assert started.lines[-1] == "tidy"


async def test_timeout_needs_no_event_loop() -> None:
    """jobs case 7: ``until`` blocks the loop meanwhile."""
    started = Started(bash("trap '' TERM; echo $$; sleep 1000", timeout=1.0, grace=0.1))
    pids = await started.pids(1)
    until(lambda: gone(*pids))
    assert (await started.end()).timed_out


async def test_a_grandchild_with_the_pipe_does_not_keep_the_run() -> None:
    """jobs case 59: the command has ended, its pipe is held open."""
    started = Started(bash("sleep 1000 & echo $!", linger=0.1))
    pids = await started.pids(1)
    child = await started.end()
    assert gone(*pids)
    assert (child.exit_code, child.stop, child.leftovers) == (0, StopReason.NONE, 1)


async def test_what_outlives_the_command_briefly_may_end_by_itself() -> None:
    started = Started(bash("(sleep 0.2; echo late) & echo first", linger=10))
    child = await started.end()
    assert (started.lines, child.leftovers, child.exit_code) == (["first", "late"], 0, 0)


async def test_a_killed_guard_takes_its_command_along() -> None:
    started = Started(bash("trap '' TERM; echo $$; sleep 1000 & echo $!; wait"))
    pids = await started.pids(2)
    os.kill(parent(pids[0]), signal.SIGKILL)
    with pytest.raises(ChildError, match="supervisor of bash ended with status -9"):
        await started.end()
    until(lambda: gone(*pids))


async def test_a_callback_that_fails_ends_the_child_and_is_raised() -> None:
    def fail(line: str) -> None:
        pids.append(int(line))
        raise KeyError(line)

    pids: list[int] = []
    with pytest.raises(KeyError):
        await run_child(bash("echo $$; sleep 1000"), on_line=fail)
    assert gone(*pids)


async def test_many_children_at_once_leave_nothing() -> None:
    before = open_descriptors(), set(children())
    ends = await asyncio.gather(*(run_child(bash(f"exit {n}")) for n in range(30)))
    assert [child.exit_code for child in ends] == list(range(30))
    assert (open_descriptors(), set(children())) == before


async def test_starting_costs_little() -> None:
    """Guard and command together; 27 ms on the machine this was written on."""
    seconds = []
    for _ in range(9):
        began = time.monotonic()
        await run_child(ChildSpec(["true"], ENV))
        seconds.append(time.monotonic() - began)
    assert statistics.median(seconds) < 0.5, seconds
