"""Runs restic: standard output as data, standard error as words, and nothing that outlives a call.

The password goes through the environment and never through an argument, which every user of the
machine could read. Restic 0.14 (Debian 12) and newer are known; the differences that matter are in
restic_errors.py and where a version is asked for.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from leitstand.archive.hindrance import UnwritableError
from leitstand.archive.objects.call_notes import UNNOTED, CallNotes, noting
from leitstand.archive.objects.object_repository import ObjectRepository
from leitstand.archive.objects.restic_errors import (
    PasswordMissingError,
    ResticError,
    ResticMissingError,
    ResticTimeoutError,
    failure,
)
from leitstand.execution import ChildHandle, ChildResult, ChildSpec, run_child

OLDEST = (0, 14)
GRACE = 15.0
"""Seconds that restic gets to remove its lock when it is asked to end."""
SHORT = 600.0
"""Seconds for calls that only look something up."""
PROBLEMS_KEPT = 100

Message = Mapping[str, Any]
OnMessage = Callable[[Message], None]

_FOREIGN = ("RESTIC_", "LEITSTAND_", "PG")
"""Beginnings of variables that restic does not get: its settings come from us, secrets stay."""
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Problem:
    """A file that restic could not read or write; ``item`` is its path as restic shows it."""

    item: str
    message: str
    during: str

    def __str__(self) -> str:
        return f"{self.item}: {self.message}" if self.message else self.item


@dataclass
class Words:
    """Standard error: what restic reports of files as JSON, and everything else as it is.

    Nothing here is taken for a result, so warnings about a cache or a home never break one.
    """

    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    hopeless: bool = False
    lines: list[str] = field(default_factory=list)

    def take(self, line: str) -> bool:
        """Add a line; True when it was about a file."""
        message = _json_object(line)
        if message is None:
            self.lines = [*self.lines[-PROBLEMS_KEPT:], line]
            return False
        if message.get("message_type") == "error":
            self._take_problem(message)
        elif "message" in message:
            self.lines.append(str(message["message"]).strip())
        return True

    def _take_problem(self, message: Message) -> None:
        during = str(message.get("during", ""))
        self.count += during != "scan"  # what the scan finds, the reading finds again
        if during != "scan" and len(self.problems) < PROBLEMS_KEPT:
            text = _sentence(message.get("error"))
            self.problems.append(Problem(str(message.get("item", "")), text, during))

    @property
    def text(self) -> str:
        """All but what was about files."""
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Answer:
    """How a call ended; ``output`` is standard output unless somebody took its messages."""

    exit_code: int
    output: bytes
    words: Words

    def document(self) -> Any:  # noqa: ANN401 -- JSON
        """Standard output as one JSON document; raises ResticError when it is none."""
        try:
            return json.loads(self.output)
        except ValueError as error:
            raise ResticError(
                "restic's answer is no JSON", detail=repr(self.output[:200])
            ) from error


class Restic:
    """Restic on one repository."""

    def __init__(self, repository: ObjectRepository) -> None:
        self.repository = repository
        self.notes = CallNotes(repository.state / "calls")

    @cached_property
    def program(self) -> str:
        """Restic's path; raises ResticMissingError."""
        wanted = self.repository.program or "restic"
        found = shutil.which(wanted)
        if found is None:
            raise ResticMissingError(
                f"the program {wanted} is not there or cannot be executed",
                remedy="Install it (Debian, Ubuntu: apt-get install restic),"
                " or set backup.objects.program.",
            )
        return found

    async def version(self) -> tuple[int, ...]:
        """Restic's version, as ``(0, 14, 0)``; raises ResticMissingError where it is too old."""
        spec = ChildSpec([self.program, "version"], self._environment(), timeout=SHORT)
        child = await run_child(spec)
        found = re.search(r"restic (\d+)\.(\d+)\.(\d+)", child.output.text())
        if found is None:
            raise ResticMissingError(
                f"{self.program} does not say which version of restic it is",
                detail=child.output.text()[:200],
                remedy="Set backup.objects.program to restic.",
            )
        version = tuple(int(number) for number in found.groups())
        if version < OLDEST:
            raise ResticMissingError(
                f"{self.program} is {found[0]}, and 0.14 is needed", remedy="Install a newer one."
            )
        return version

    async def call(
        self,
        *arguments: str,
        cwd: Path | None = None,
        on_message: OnMessage | None = None,
        hopeless: Callable[[str], bool] = lambda line: False,
        timeout: float | None = None,
    ) -> Answer:
        """Run ``restic ARGUMENTS`` to its end, whatever its exit code.

        ``on_message`` gets each JSON object that stands on a line of its own in standard output,
        from another thread. A line of standard error for which ``hopeless`` holds ends the call.
        Raises ResticTimeoutError, ResticError when it was killed.
        """
        words, output, handles = Words(), Output(on_message), list[ChildHandle]()

        def on_line(line: str) -> bool:
            if hopeless(line):
                words.hopeless = True
                handles[0].terminate()
            return words.take(line)

        note = self._new_note()
        limit = min(timeout or self.repository.timeout, self.repository.timeout)
        child = await run_child(
            ChildSpec(
                noting(note, [self.program, *arguments]),
                self._environment(),
                cwd=str(cwd) if cwd else None,
                timeout=limit,
                grace=GRACE,
            ),
            on_line=on_line,
            on_stdout=output.take,
            on_start=handles.append,
        )
        if child.exit_code is not None:
            note.unlink(missing_ok=True)
        return Answer(self._exit_code(arguments[0], child, words, limit), output.whole(), words)

    async def succeed(self, *arguments: str, timeout: float | None = None) -> Answer:
        """As ``call``; any exit code but 0 is raised as the error that it means."""
        answer = await self.call(*arguments, timeout=timeout)
        if answer.exit_code != 0:
            raise self.failure(arguments[0], answer)
        return answer

    async def look_up(self, *arguments: str) -> Any:  # noqa: ANN401 -- JSON
        """The JSON document that a quick command answers, without taking a lock."""
        return (await self.succeed(*arguments, "--json", "--no-lock", timeout=SHORT)).document()

    def failure(self, command: str, answer: Answer) -> Exception:
        """The error that a call's exit code means."""
        said = "\n".join([*map(str, answer.words.problems[:10]), answer.words.text])
        return failure(command, self.repository.shown, answer.exit_code, said)

    def _new_note(self) -> Path:
        try:
            return self.notes.new()
        except OSError as error:
            raise self._unnoted(error.strerror or str(error)) from error

    def _unnoted(self, why: str) -> UnwritableError:
        return UnwritableError(
            f"{self.repository.state} cannot be written: {why}",
            code=ResticError.code,
            remedy="Look at the owner and the room of server.data_dir.",
        )

    def _exit_code(self, command: str, child: ChildResult, words: Words, limit: float) -> int:
        if child.exit_code == UNNOTED:
            raise self._unnoted(words.text)
        if child.exit_code is not None:
            return child.exit_code
        if words.hopeless:
            return 1
        if child.timed_out:
            raise ResticTimeoutError(
                f"restic {command} did not end within {limit:g} s and was stopped",
                detail=words.text[-2000:] or None,
                remedy="Raise backup.objects.timeout, or find out what it waits for.",
            )
        raise ResticError(
            f"restic {command} was killed before it had ended", detail=words.text[-2000:] or None
        )

    def _environment(self) -> dict[str, str]:
        if not self.repository.password:
            raise PasswordMissingError(
                "no password is configured for the repository of objects",
                remedy="Write a long random one to a file that only Leitstand may read, keep a"
                " copy elsewhere, and set backup.objects.password_file.",
            )
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        return {
            "PATH": _DEFAULT_PATH,
            **kept,
            "LC_ALL": "C",
            "RESTIC_REPOSITORY": self.repository.address,
            "RESTIC_PASSWORD": self.repository.password,
            "RESTIC_CACHE_DIR": str(self.repository.state / "cache"),
            "RESTIC_PROGRESS_FPS": "2",
        }


class Output:
    """Standard output: kept whole, or cut into messages for somebody who wants them."""

    def __init__(self, on_message: OnMessage | None) -> None:
        self._on_message = on_message
        self._data = bytearray()

    def take(self, data: bytes) -> None:
        """Add the next bytes."""
        self._data += data
        if self._on_message is None:
            return
        *lines, rest = self._data.split(b"\n")
        self._data = rest
        for line in lines:
            message = _json_object(line.decode("utf-8", "backslashreplace"))
            if message is not None:
                self._on_message(message)

    def whole(self) -> bytes:
        """What nobody has taken."""
        return bytes(self._data)


def _json_object(line: str) -> Message | None:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _sentence(error: object) -> str:
    """What an error of a file says: a text from 0.16 on, before sometimes only a number."""
    if not isinstance(error, dict):
        return str(error or "")
    if "message" in error:
        return str(error["message"])
    number = error.get("Err")
    return os.strerror(number) if isinstance(number, int) else ""
