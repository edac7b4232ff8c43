"""Executors for tests of worker processes, made by ``make``; they run over there."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.executor import Isolation, Params, Reporter, Result, RunFacts


class Given(Params):
    """What a test hands over."""

    number: int = 0
    path: Path = Path()


Behaviour = Callable[[Given, RunFacts, Reporter], Awaitable[Result]]


class Behaving:
    """An executor that does what one of the functions below does."""

    params: ClassVar[type[Given]] = Given
    isolation: ClassVar[Isolation] = Isolation.WORKER
    kind: ClassVar[str] = "behaving"

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    async def execute(self, params: Given, run: RunFacts, reporter: Reporter) -> Result:
        """Do it."""
        return await self._behaviour(params, run, reporter)


def make(kind: str) -> Behaving:
    """The executor whose behaviour is the function named ``kind``."""
    return Behaving(globals()[kind])


async def work(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """Use all ways out: lines, progress, prints of every sort, a full result."""
    reporter.log("first\nsecond")
    reporter.progress(50, "half")
    print("printed")
    print('{"log": "no message"}')
    subprocess.run(["echo", "from a program"], check=True)
    os.write(1, b"\xff raw\n")
    await asyncio.to_thread(reporter.log, "from a thread \udcff")
    where = {"pid": os.getpid(), "run": run.job, "at": run.scheduled_at.isoformat()}
    where |= {"token": os.environ["LEITSTAND_FENCING_TOKEN"], "number": params.number}
    return Result(1, 2, 3, 4, ("a reason",), {**where, "nan": float("nan"), "text": "a\0\udcff"})


async def refuse(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """A typed error."""
    raise LeitstandError(
        "the store is full",
        code="STORE_FULL",
        detail="0 of 9 bytes",
        remedy="Buy a disk.",
        failure_class=FailureClass.TRANSIENT,
    )


async def stumble(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """An exception that nobody foresaw."""
    raise FileNotFoundError(2, "No such file", "na\udcefve")


async def boast(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """A result larger than what can be kept."""
    return Result(result={"all": "x" * 300_000})


async def mumble(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """A result that JSON cannot say."""
    return Result(result={"what": object()})


async def die(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """End by a signal."""
    print("last words", file=sys.stderr)
    os.kill(os.getpid(), params.number)
    return Result()


async def leave(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """End the process behind everybody's back."""
    os._exit(params.number)


async def tidy(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """Wait until cancelled and clean up then."""
    reporter.log(str(os.getpid()))
    try:
        await asyncio.sleep(1000)
    finally:
        params.path.write_text("tidy")
    return Result()


async def hang(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """Block the loop."""
    reporter.log(str(os.getpid()))
    time.sleep(1000)
    return Result()


async def straggle(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """Leave a thread and a program behind."""
    threading.Thread(target=time.sleep, args=(1000,)).start()
    program = subprocess.Popen(["sleep", "1000"])
    return Result(result={"pid": program.pid})


async def chatter(params: Given, run: RunFacts, reporter: Reporter) -> Result:
    """Log and print without measure."""
    for number in range(params.number):
        reporter.log(f"logged {number}")
        print("printed", number)
    return Result()
