"""A child process as values: what to start, and how it ended."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.output import CapturedOutput


class ChildError(LeitstandError):
    """A child process could not be supervised: no descriptors, no memory, or its guard died."""

    code = "CHILD_PROCESS"
    failure_class = FailureClass.TRANSIENT


class LeaseLostError(LeitstandError):
    """A child that this server killed, since the run may belong to another server by now."""

    code = "LEASE_EXPIRED"
    failure_class = FailureClass.TRANSIENT


@dataclass(frozen=True)
class ChildSpec:
    """A command and the limits of its life.

    ``env`` is the complete environment; nothing is inherited, PATH included. ``stdin`` is given
    whole (as a file, so that a child which does not read it blocks nobody). After ``timeout``
    seconds, or on request, the command's process group gets SIGTERM and ``grace`` seconds later
    it and every descendant get SIGKILL. What outlives the command itself has ``linger`` seconds.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None = None
    stdin: bytes | None = None
    timeout: float | None = None
    grace: float = 10.0
    linger: float = 2.0

    def encoded(self) -> bytes:
        """The specification as the guard reads it; ValueError for what no system could start."""
        if not self.argv:
            raise ValueError("a command needs at least one argument")
        if any("=" in name or not name for name in self.env):
            raise ValueError("names of environment variables are not empty and have no '='")
        numbers = (self.timeout or float("inf"), self.grace, self.linger)
        variables = [f"{name}={value}" for name, value in self.env.items()]
        fields = [*map(str, numbers), self.cwd or "", str(len(self.argv)), *self.argv, *variables]
        if any("\0" in field for field in fields):
            raise ValueError("arguments, directory and environment cannot contain NUL characters")
        return b"".join(os.fsencode(field) + b"\0" for field in fields)


class StopReason(StrEnum):
    """Why a command was stopped; the words are the guard's."""

    NONE = "none"
    """It ended by itself."""
    STOPPED = "stopped"
    """``terminate`` was called."""
    TIMEOUT = "timeout"
    KILLED = "killed"
    """``kill_now`` was called."""
    FENCED = "fenced"
    """``renew`` was not called in time."""
    ORPHANED = "orphaned"
    """The server let go of it; hardly ever seen, since there is nobody left to see it."""


class SpawnStage(StrEnum):
    """Where starting a command failed; the words are the guard's."""

    START = "start"
    CWD = "cwd"
    EXEC = "exec"


@dataclass(frozen=True)
class SpawnFailure:
    """A command that never ran: the working directory or the program could not be used."""

    stage: SpawnStage
    errno: int

    @property
    def reason(self) -> str:
        """The system's words for it."""
        return os.strerror(self.errno)


@dataclass(frozen=True)
class ChildResult:
    """How a command ended; exactly one of the first three is set, none if it was never started.

    ``leftovers`` and ``escapees`` count processes that outlived it and were killed, in its process
    group and out of it; ``unkillable`` those that were still there when the guard gave up.
    """

    exit_code: int | None
    signal: int | None
    spawn_failure: SpawnFailure | None
    stop: StopReason
    leftovers: int
    escapees: int
    unkillable: int
    output: CapturedOutput
    duration: float

    @property
    def timed_out(self) -> bool:
        """Whether it was stopped by its timeout."""
        return self.stop is StopReason.TIMEOUT


@dataclass(frozen=True)
class GuardReport:
    """What a guard has told, read from its lines."""

    pid: int | None = None
    spawn_failure: SpawnFailure | None = None
    ended: tuple[int, StopReason, int, int, int] | None = None

    @classmethod
    def parse(cls, data: bytes) -> "GuardReport":
        """From all bytes of the RESULT pipe (format: guard.py); an unfinished line is ignored."""
        pid = failure = ended = None
        for line in data.decode("ascii").split("\n")[:-1]:
            word, *values = line.split(" ")
            if word == "started":
                pid = int(values[0])
            elif word == "failed":
                failure = SpawnFailure(SpawnStage(values[0]), int(values[1]))
            elif word == "ended":
                counts = (int(values[2]), int(values[3]), int(values[4]))
                ended = (int(values[0]), StopReason(values[1]), *counts)
        return cls(pid, failure, ended)

    def result(self, output: CapturedOutput, duration: float) -> ChildResult:
        """The outcome; ``ended`` must be there."""
        assert self.ended is not None  # noqa: S101 - the caller has checked
        status, stop, leftovers, escapees, unkillable = self.ended
        code = None if status < 0 or self.spawn_failure else os.waitstatus_to_exitcode(status)
        return ChildResult(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            spawn_failure=self.spawn_failure,
            stop=stop,
            leftovers=leftovers,
            escapees=escapees,
            unkillable=unkillable,
            output=output,
            duration=duration,
        )


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; the number itself where the system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
