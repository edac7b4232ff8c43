"""The job kind ``command``: a program run as a child process, its exit status as the outcome."""

import errno
import json
import os
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.child import (
    ChildResult,
    ChildSpec,
    LeaseLostError,
    SpawnFailure,
    SpawnStage,
    StopReason,
    signal_name,
)
from leitstand.execution.child_handle import ChildHandle, Children
from leitstand.execution.command_environment import command_environment
from leitstand.execution.executor import Isolation, Params, Reporter, Result, RunFacts
from leitstand.execution.output import KIB
from leitstand.execution.process import run_child

ExitCode = Annotated[int, Field(ge=0, le=255)]
PROGRESS = re.compile(r"::progress (\d{1,3}(?:\.\d+)?)%?(?: (.*))?")
DETAIL_LIMIT = 4 * KIB
SENT_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
"""Signals that say nothing against the command: an operator, a reboot, the out-of-memory killer."""


class CommandParams(Params):
    """What to run: ``argv``, or ``shell`` for one line that ``/bin/sh -c`` interprets.

    The exit status decides: one of ``success_exit_codes`` is success, ``partial_exit_codes`` a
    partial failure, ``transient_exit_codes`` a failure worth another attempt, any other a permanent
    one. A line ``::progress 42 some words`` sets the run's progress and is not logged (until the
    log is full: afterwards lines are no longer read). ``stdin`` replaces the event's JSON.
    """

    argv: list[str] = Field(default_factory=list)
    shell: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    stdin: str | None = None
    success_exit_codes: list[ExitCode] = Field(default=[0], min_length=1)
    partial_exit_codes: list[ExitCode] = Field(default_factory=list)
    transient_exit_codes: list[ExitCode] = Field(default_factory=list)

    @field_validator("cwd")
    @classmethod
    def _cwd_is_absolute(cls, cwd: str | None) -> str | None:
        if cwd is not None and not os.path.isabs(cwd):
            raise ValueError("must be an absolute path")
        return cwd

    @model_validator(mode="after")
    def _is_one_command(self) -> Self:
        if bool(self.argv) == bool(self.shell):
            raise ValueError("exactly one of 'argv' and 'shell' must be given")
        codes = [*self.success_exit_codes, *self.partial_exit_codes, *self.transient_exit_codes]
        if len(codes) != len(set(codes)):
            raise ValueError("an exit code can have one meaning only")
        ChildSpec(self.command(), self.env, self.cwd).encoded()
        return self

    def command(self) -> list[str]:
        """The arguments to start."""
        return ["/bin/sh", "-c", self.shell] if self.shell else self.argv

    def name(self) -> str:
        """The program for messages, without its arguments: they may hold a secret."""
        return "the shell command" if self.shell else f"the command {self.argv[0]}"


class CommandError(LeitstandError):
    """A command that ran and failed; transient only for the codes that its job names."""

    code = "COMMAND_FAILED"


class CommandNotStartedError(LeitstandError):
    """A command that never ran; the code says why."""

    code = "COMMAND_NOT_STARTED"


class CommandTimeoutError(LeitstandError):
    """A command that was stopped by its timeout.

    Transient: what hung or was slow (a lock, a network, a loaded machine) may not be next time,
    and how often to try is the job's own setting.
    """

    code = "TIMEOUT"
    failure_class = FailureClass.TRANSIENT


class CommandKilledError(LeitstandError):
    """A command that a signal ended which Leitstand did not send."""

    code = "COMMAND_KILLED"


class CommandExecutor:
    """Carries out ``command`` runs.

    ``environment`` is what all commands get (default: PATH, HOME, LANG and TZ of this process);
    ``children`` lets the server kill them without the event loop; ``grace`` is the time in seconds
    from SIGTERM to SIGKILL and should be well below the server's shutdown grace.
    """

    kind: ClassVar[str] = "command"
    params: ClassVar[type[Params]] = CommandParams
    isolation: ClassVar[Isolation] = Isolation.CHILD

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        children: Children | None = None,
        grace: float = 10.0,
    ) -> None:
        self._environment = environment
        self._children = children or Children()
        self._grace = grace

    async def execute(self, params: CommandParams, run: RunFacts, reporter: Reporter) -> Result:
        """Run the command to its end; see ``judge`` for what comes of it."""

        def on_line(line: str) -> bool:
            if report_progress(line, reporter):
                return True
            reporter.log(line)
            return False

        def on_start(handle: ChildHandle) -> None:
            self._children.add(run.run_id, handle)

        spec = ChildSpec(
            argv=params.command(),
            env=command_environment(run, params.env, self._environment),
            cwd=params.cwd,
            stdin=standard_input(params, run),
            timeout=run.timeout,
            grace=self._grace,
        )
        child = await run_child(spec, on_line=on_line, on_start=on_start)
        report_survivors(child, reporter)
        return judge(params, child, run.timeout)


def standard_input(params: CommandParams, run: RunFacts) -> bytes | None:
    """What the command reads: its own ``stdin``, else the event as JSON, else nothing."""
    if params.stdin is not None:
        return params.stdin.encode()
    if run.event is not None:
        return json.dumps(dict(run.event), default=str).encode()
    return None


def report_progress(line: str, reporter: Reporter) -> bool:
    """Whether the line is one of progress (see CommandParams), which is then passed on."""
    match = PROGRESS.fullmatch(line)
    if match is None:
        return False
    reporter.progress(min(100.0, float(match[1])), match[2])
    return True


def report_survivors(child: ChildResult, reporter: Reporter) -> None:
    """Log what the command left behind: it was killed, which its author may not expect."""
    if child.leftovers or child.escapees:
        reporter.log(
            f"[{child.leftovers + child.escapees} processes outlived the command and were killed"
            f", {child.escapees} of them in a session of their own]"
        )
    if child.unkillable:
        reporter.log(f"[{child.unkillable} processes could not be killed and may still run]")


def judge(params: CommandParams, child: ChildResult, timeout: float | None) -> Result:
    """The outcome of a command that has ended: a Result, or the error raised that it means."""
    if child.spawn_failure is not None:
        raise not_started(params, child.spawn_failure)
    if child.timed_out:
        raise CommandTimeoutError(
            f"{params.name()} did not end within its timeout of {timeout:g} s and was stopped",
            detail=_detail(child),
            remedy="Raise the job's timeout, or find out what the command waits for.",
        )
    if child.stop is not StopReason.NONE:
        raise LeaseLostError(f"{params.name()} was killed: its lease could not be renewed in time")
    if child.signal is not None:
        raise killed(params, child, signal_name(child.signal))
    return judge_exit_code(params, child)


def judge_exit_code(params: CommandParams, child: ChildResult) -> Result:
    """The outcome by exit status."""
    facts = {"exit_code": child.exit_code, "output_bytes": child.output.size}
    last = child.output.last_line()
    said = f"{params.name()} ended with exit status {child.exit_code}" + (last and f": {last}")
    if child.exit_code in params.success_exit_codes:
        return Result(result=facts)
    if child.exit_code in params.partial_exit_codes:
        return Result(objects_skipped=1, skip_reasons=(said,), result=facts)
    transient = child.exit_code in params.transient_exit_codes
    raise CommandError(
        said,
        detail=_detail(child),
        remedy="Read the run's log; the exit status is the command's own.",
        failure_class=FailureClass.TRANSIENT if transient else FailureClass.PERMANENT,
    )


def killed(params: CommandParams, child: ChildResult, name: str) -> CommandKilledError:
    """The error for a command that a signal ended: permanent where it is a crash of its own."""
    outside = name in SENT_FROM_OUTSIDE
    return CommandKilledError(
        f"{params.name()} was killed by {name}",
        detail=_detail(child),
        remedy="Look at the system's log: memory may have run out."
        if outside
        else "The program crashed; its authors will want to know.",
        failure_class=FailureClass.TRANSIENT if outside else FailureClass.PERMANENT,
    )


def not_started(params: CommandParams, failure: SpawnFailure) -> CommandNotStartedError:
    """The error for a command that never ran, by stage and errno."""
    if failure.stage is SpawnStage.CWD:
        return CommandNotStartedError(
            f"the working directory {params.cwd} cannot be entered: {failure.reason}",
            code="WORKING_DIRECTORY",
            remedy="Create it on every machine that runs this job, or correct 'cwd'.",
        )
    codes = {
        errno.ENOENT: "COMMAND_NOT_FOUND",
        errno.ENOTDIR: "COMMAND_NOT_FOUND",
        errno.EACCES: "COMMAND_NOT_EXECUTABLE",
        errno.ENOEXEC: "COMMAND_NOT_EXECUTABLE",
    }
    again = failure.errno in (errno.EAGAIN, errno.ENOMEM, errno.ETXTBSY, errno.ENFILE)
    return CommandNotStartedError(
        f"{params.name()} could not be started: {failure.reason}",
        code=codes.get(failure.errno),
        failure_class=FailureClass.TRANSIENT if again else FailureClass.PERMANENT,
        remedy="Check that the program (and the interpreter that its first line names) is"
        " installed, executable and in PATH on every machine that runs this job.",
    )


def _detail(child: ChildResult) -> str | None:
    return child.output.text()[-DETAIL_LIMIT:].strip() or None
