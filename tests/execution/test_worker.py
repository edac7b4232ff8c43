"""Runs in worker processes: what passes between the two, and every way to end."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.child_handle import Children
from leitstand.execution.executor import Result
from leitstand.execution.output import LogLimits
from leitstand.execution.worker_protocol import (
    LOG_LINE_LIMIT,
    LogLine,
    Message,
    Progress,
    Raised,
    Request,
    Returned,
    decode,
    encode,
)
from leitstand.execution.worker_run import run_in_worker
from tests.execution.processes import eventually, gone
from tests.execution.run_scene import Recorded, facts

FACTORY = "tests.execution.worker_executors:make"
ROOT = str(Path(__file__).parents[2])
PERMANENT, TRANSIENT = FailureClass.PERMANENT, FailureClass.TRANSIENT


async def run(
    kind: str,
    reporter: Recorded | None = None,
    *,
    timeout: float | None = None,
    factory: str = FACTORY,
    children: Children | None = None,
    grace: float = 20.0,
    limits: LogLimits | None = None,
    **params: Any,
) -> Result:
    path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    return await run_in_worker(
        kind,
        params,
        facts(kind, timeout),
        reporter or Recorded(),
        factory,
        children=children,
        environment={**os.environ, "PYTHONPATH": path},
        grace=grace,
        limits=limits,
    )


async def failure(kind: str, reporter: Recorded | None = None, **more: Any) -> LeitstandError:
    with pytest.raises(LeitstandError) as caught:
        await run(kind, reporter, **more)
    return caught.value


async def test_a_result_with_everything_said_on_the_way() -> None:
    reporter = Recorded()
    result = await run("work", reporter, number=5)
    assert (result.bytes_processed, result.bytes_written, result.objects_processed) == (1, 2, 3)
    assert (result.objects_skipped, result.skip_reasons) == (4, ("a reason",))
    facts_there = dict(result.result)
    assert facts_there.pop("pid") != os.getpid()
    assert facts_there == {
        "run": "nightly",
        "at": "2026-03-01T02:30:00+00:00",
        "token": "42",
        "number": 5,
        "nan": None,
        "text": "a\\x00\\udcff",
    }
    assert reporter.steps == [(50, "half")]
    logged = [line for line in reporter.lines if line in ("first", "second")]
    assert logged == ["first", "second"]
    rest = [
        "from a thread \\udcff",
        "printed",
        "from a program",
        "\\xff raw",
        '{"log": "no message"}',
    ]
    assert sorted(reporter.lines) == sorted(logged + rest)


async def test_errors_keep_code_words_and_class() -> None:
    error = await failure("refuse")
    assert error.as_dict() == {
        "code": "STORE_FULL",
        "message": "the store is full",
        "detail": "0 of 9 bytes",
        "remedy": "Buy a disk.",
    }
    assert error.failure_class is TRANSIENT


async def test_what_nobody_foresaw_is_permanent_and_shows_where() -> None:
    error = await failure("stumble")
    assert (error.code, error.failure_class) == ("EXECUTION_FAILED", PERMANENT)
    assert error.message == "FileNotFoundError: [Errno 2] No such file: 'na\\udcefve'"
    assert "in stumble" in (error.detail or "")


@pytest.mark.parametrize(
    ("kind", "more", "code"),
    [
        ("boast", {}, "RESULT_TOO_LARGE"),
        ("mumble", {}, "EXECUTION_FAILED"),
        ("work", {"number": "many"}, "EXECUTION_FAILED"),
        ("work", {"factory": "tests.nowhere:make"}, "EXECUTION_FAILED"),
    ],
)
async def test_what_cannot_be_said_or_done_is_an_error(
    kind: str, more: dict[str, Any], code: str
) -> None:
    error = await failure(kind, **more)
    assert (error.code, error.failure_class) == (code, PERMANENT)


async def test_a_worker_that_dies_is_worth_another_attempt() -> None:
    """kill -9 from within stands for the out-of-memory killer."""
    killed = await failure("die", number=9)
    assert (killed.code, killed.failure_class) == ("WORKER_DIED", TRANSIENT)
    assert "was killed by SIGKILL" in killed.message
    assert killed.detail == "last words"
    left = await failure("leave", number=3)
    assert (left.code, "exit status 3" in left.message) == ("WORKER_DIED", True)


async def test_timeout_ends_a_worker_that_hangs() -> None:
    reporter = Recorded()
    error = await failure("hang", reporter, timeout=1.0, grace=0.1)
    assert (error.code, error.failure_class) == ("TIMEOUT", TRANSIENT)
    assert gone(*map(int, reporter.lines))


async def test_cancellation_reaches_the_executor(tmp_path: Path) -> None:
    reporter, mark = Recorded(), tmp_path / "mark"
    task = asyncio.create_task(run("tidy", reporter, path=mark, grace=60))
    await eventually(lambda: reporter.lines)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert mark.read_text() == "tidy"
    assert gone(int(reporter.lines[0]))


async def test_a_lost_lease_kills_a_worker_that_hangs() -> None:
    """jobs cases 3, 49."""
    reporter, children = Recorded(), Children()
    task = asyncio.create_task(failure("hang", reporter, children=children))
    await eventually(lambda: reporter.lines)
    children.renew(7, 0.01)
    error = await task
    assert (error.code, error.failure_class) == ("LEASE_EXPIRED", TRANSIENT)
    assert gone(int(reporter.lines[0]))


async def test_threads_and_programs_left_behind_keep_nobody() -> None:
    async with asyncio.timeout(20):
        result = await run("straggle")
    assert gone(result.result["pid"])


async def test_chatter_is_bounded_in_all() -> None:
    """jobs case 68: what is logged and what is printed share one limit."""
    reporter = Recorded()
    await run("chatter", reporter, number=20_000, limits=LogLimits(lines=100, tail_lines=10))
    assert 100 <= len(reporter.lines) <= 112
    assert any("bytes left out" in line for line in reporter.lines)


def test_a_worker_starts_light() -> None:
    """Each run pays for what its process imports: pydantic and asyncio, nothing of the server."""
    program = "import leitstand.execution.worker, sys; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    heavy = {"psycopg", "structlog", "rich", "prometheus_client", "aiosql", "fastapi"}
    assert not heavy & set(shown.stdout.decode().split())


MESSAGES: list[Message] = [
    LogLine("grüß"),
    Progress(None, None),
    Progress(12.5, "on the way"),
    Returned(Result(1, 2, 3, 4, ("a",), {"b": [1, None]})),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_arrive_as_they_were_sent(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


def test_long_texts_are_cut() -> None:
    assert decode(encode(LogLine("x" * 100_000))) == LogLine("x" * LOG_LINE_LIMIT)
    raised = decode(encode(Raised(LeitstandError("m", detail="a" * 100_000 + "the end"))))
    assert isinstance(raised, Raised)
    assert str(raised.error.detail).endswith("the end")
    assert len(str(raised.error.detail)) < 10_000


@pytest.mark.parametrize(
    "line",
    [b"", b"hello", b"[]", b'{"log": 1}', b'{"result": {"a": 1}}', b"\xff", b'{"error": {}}'],
)
def test_what_is_no_message_is_none(line: bytes) -> None:
    assert decode(line) is None


def test_a_request_arrives_as_it_was_sent() -> None:
    request = Request(FACTORY, "work", {"a": 1}, facts("work", 2.5, {"name": "x"}))
    assert Request.decoded(request.encoded()) == request
