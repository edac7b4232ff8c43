"""The job kind ``command``: parameters, environment, and what each end of a command means."""

import asyncio
import json
import os
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.child import ChildError, LeaseLostError
from leitstand.execution.child_handle import Children
from leitstand.execution.command import (
    CommandError,
    CommandExecutor,
    CommandKilledError,
    CommandNotStartedError,
    CommandParams,
    CommandTimeoutError,
)
from leitstand.execution.command_environment import run_variables
from leitstand.execution.executor import Result
from tests.execution.processes import PATH, eventually, gone
from tests.execution.run_scene import Recorded, facts

PERMANENT, TRANSIENT = FailureClass.PERMANENT, FailureClass.TRANSIENT


async def run(
    reporter: Recorded | None = None,
    *,
    timeout: float | None = None,
    event: dict[str, Any] | None = None,
    grace: float = 10.0,
    children: Children | None = None,
    **params: Any,
) -> Result:
    executor = CommandExecutor({"PATH": PATH}, children, grace)
    run_facts = facts("command", timeout, event)
    return await executor.execute(CommandParams(**params), run_facts, reporter or Recorded())


async def failure(**arguments: Any) -> LeitstandError:
    with pytest.raises(LeitstandError) as caught:
        await run(**arguments)
    return caught.value


async def test_success_reports_lines_progress_and_exit_code() -> None:
    reporter = Recorded()
    result = await run(
        reporter,
        shell="echo one; echo '::progress 40 half'; echo two >&2; echo '::progress 250%'; echo ::x",
    )
    assert reporter.lines == ["one", "two", "::x"]
    assert reporter.steps == [(40.0, "half"), (100.0, None)]
    assert (result.result["exit_code"], result.objects_skipped) == (0, 0)


async def test_exit_codes_mean_what_the_job_says() -> None:
    """jobs case 71: a partial failure is a result with skipped objects, hence never retried."""
    codes: dict[str, Any] = {
        "success_exit_codes": [0, 3],
        "partial_exit_codes": [4],
        "transient_exit_codes": [75],
    }
    assert (await run(shell="exit 3", **codes)).objects_skipped == 0
    partial = await run(shell="echo two files are missing; exit 4", **codes)
    assert partial.objects_skipped == 1
    assert partial.skip_reasons == (
        "the shell command ended with exit status 4: two files are missing",
    )
    ends = [await failure(shell=f"echo why; exit {code}", **codes) for code in (75, 1)]
    assert [error.code for error in ends] == ["COMMAND_FAILED"] * 2
    assert [error.failure_class for error in ends] == [TRANSIENT, PERMANENT]
    assert ends[1].message == "the shell command ended with exit status 1: why"
    assert ends[1].detail == "why"


async def test_what_cannot_start_fails_fast_with_its_reason(tmp_path: Path) -> None:
    """jobs case 63."""
    plain, bad = tmp_path / "plain", tmp_path / "bad"
    plain.write_text("true\n")
    bad.write_text("#!/nonexistent/interpreter\n")
    bad.chmod(0o755)
    expected: list[tuple[str, dict[str, Any]]] = [
        ("COMMAND_NOT_FOUND", {"argv": ["no-such-command-7"]}),
        ("COMMAND_NOT_FOUND", {"argv": [str(bad)]}),
        ("COMMAND_NOT_EXECUTABLE", {"argv": [str(plain)]}),
        ("COMMAND_NOT_EXECUTABLE", {"argv": [str(tmp_path)]}),
        ("WORKING_DIRECTORY", {"argv": ["true"], "cwd": "/nonexistent"}),
        ("WORKING_DIRECTORY", {"argv": ["true"], "cwd": str(plain)}),
    ]
    began = time.monotonic()
    for code, params in expected:
        error = await failure(**params)
        assert (error.code, error.failure_class) == (code, PERMANENT), params
        assert error.remedy
    assert time.monotonic() - began < 5


async def test_a_signal_from_outside_is_worth_another_attempt_a_crash_is_not() -> None:
    killed = await failure(shell="kill -KILL $$")
    crashed = await failure(shell="ulimit -c 0; kill -SEGV $$")
    assert [killed.code, crashed.code] == ["COMMAND_KILLED"] * 2
    assert [killed.failure_class, crashed.failure_class] == [TRANSIENT, PERMANENT]
    assert "SIGKILL" in killed.message
    assert "SIGSEGV" in crashed.message


async def test_timeout_keeps_the_last_words() -> None:
    error = await failure(shell="echo waiting for a lock; sleep 1000", timeout=1.0, grace=0.2)
    assert (error.code, error.failure_class) == ("TIMEOUT", TRANSIENT)
    assert error.detail == "waiting for a lock"
    assert " 1 s" in error.message


async def test_cancellation_is_no_error_and_leaves_nothing() -> None:
    reporter = Recorded()
    task = asyncio.create_task(run(reporter, shell="echo $$; sleep 1000 & echo $!; wait"))
    await eventually(lambda: len(reporter.lines) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(*map(int, reporter.lines))


async def test_a_lost_lease_is_told_from_a_failure() -> None:
    """jobs case 3."""
    children, reporter = Children(), Recorded()
    task = asyncio.create_task(
        failure(reporter=reporter, children=children, shell="echo; sleep 99")
    )
    await eventually(lambda: reporter.lines)
    children.kill(7)
    error = await task
    assert (error.code, error.failure_class) == ("LEASE_EXPIRED", TRANSIENT)


async def test_survivors_are_named_in_the_log() -> None:
    reporter = Recorded()
    await run(
        reporter, shell="sleep 1000 & { setsid sh -c 'echo up; exec sleep 1000' & } | head -1"
    )
    assert reporter.lines == [
        "up",
        "[2 processes outlived the command and were killed, 1 of them in a session of their own]",
    ]


async def test_environment_holds_no_secret_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEITSTAND_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("HOME", "/home/of/the/server")
    reporter = Recorded()
    params = CommandParams(argv=["/usr/bin/env"], env={"LANG": "C.UTF-8", "LEITSTAND_JOB": "x"})
    await CommandExecutor().execute(params, facts("command"), reporter)
    variables = dict(line.split("=", 1) for line in reporter.lines)
    own = {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ}
    assert variables == {
        **own,
        "HOME": "/home/of/the/server",
        "LANG": "C.UTF-8",
        "LEITSTAND_JOB": "nightly",
        "LEITSTAND_RUN_ID": "7",
        "LEITSTAND_ATTEMPT": "2",
        "LEITSTAND_CORRELATION_ID": "c-1",
        "LEITSTAND_SCHEDULED_AT": "2026-03-01T02:30:00+00:00",
        "LEITSTAND_FENCING_TOKEN": "42",
    }


async def test_an_event_arrives_in_variables_and_on_standard_input() -> None:
    event = {
        "name": "disk-full",
        "payload": {"host": "db1", "used %": 97, "evil\n=x": "a\0b\ud800", "long": "y" * 5000},
    }
    reporter = Recorded()
    await run(reporter, shell="env | grep ^LEITSTAND_EVENT | sort | cut -c1-60; cat", event=event)
    assert reporter.lines[:-1] == [
        "LEITSTAND_EVENT_NAME=disk-full",
        "LEITSTAND_EVENT_PAYLOAD_EVIL__X=ab?",
        "LEITSTAND_EVENT_PAYLOAD_HOST=db1",
        "LEITSTAND_EVENT_PAYLOAD_LONG=" + "y" * 31,
        "LEITSTAND_EVENT_PAYLOAD_USED__=97",
    ]
    assert json.loads(reporter.lines[-1]) == event


async def test_standard_input_of_the_job_replaces_the_event() -> None:
    reporter = Recorded()
    await run(reporter, argv=["cat"], stdin="grüß\n", event={"name": "x"})
    await run(reporter, argv=["cat"])
    assert reporter.lines == ["grüß"]


async def test_a_shell_only_if_asked_for() -> None:
    reporter = Recorded()
    await run(reporter, argv=["echo", "$HOME; ls *", "`id`"])
    await run(reporter, shell="echo $((40 + 2))")
    assert reporter.lines == ["$HOME; ls * `id`", "42"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "exactly one of 'argv' and 'shell'"),
        ({"argv": ["x"], "shell": "x"}, "exactly one of 'argv' and 'shell'"),
        ({"argv": ["x"], "cwd": "below"}, "absolute path"),
        ({"argv": ["x"], "success_exit_codes": [256]}, "less than or equal to 255"),
        ({"argv": ["x"], "success_exit_codes": []}, "at least 1 item"),
        ({"argv": ["x"], "partial_exit_codes": [0]}, "one meaning only"),
        ({"argv": ["a\0b"]}, "NUL"),
        ({"argv": ["\ud800"]}, "surrogates"),
        ({"argv": ["x"], "env": {"A=B": ""}}, "environment variables"),
        ({"argv": ["x"], "timeout": 3}, "Extra inputs"),
    ],
)
def test_parameters_are_checked_when_the_job_is_saved(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CommandParams(**params)


def test_the_documentation_is_about_this_kind() -> None:
    text = (Path(__file__).parents[2] / "docs/commands.md").read_text()
    example = tomllib.loads(text.split("```toml\n")[1].split("```")[0])["job"][0]
    assert CommandParams(**example["params"]).partial_exit_codes == [23, 24]
    codes = {"COMMAND_NOT_FOUND", "COMMAND_NOT_EXECUTABLE", "WORKING_DIRECTORY", "PARTIAL_FAILURE"}
    errors = {CommandError, CommandKilledError, CommandNotStartedError, CommandTimeoutError}
    codes |= {error.code for error in errors | {ChildError, LeaseLostError}}
    variables = run_variables(facts("command"))
    for word in (*CommandParams.model_fields, *codes, *variables):
        assert f"`{word}`" in text, word
