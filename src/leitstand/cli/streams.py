"""Keeps the standard streams usable: closed, full or no longer read, they undo no work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TextIO

from leitstand.cli.exit_code import ExitCode
from leitstand.errors import LeitstandError


class ResultLostError(LeitstandError):
    """The result could not be written to standard output; ``ended`` is how the work ended.

    A reader that went away (``| head -1``) has seen enough: then ``quiet``, and the work's code.
    """

    code = "OUTPUT"

    def __init__(self, cause: OSError, ended: ExitCode) -> None:
        super().__init__(
            f"the command has ended ({ended.in_words}), but what it had to say could not be "
            f"written to standard output: {cause.strerror or cause}",
            remedy="What it changed is changed. See the result with a command that shows it.",
        )
        self._cause = cause
        self.quiet = isinstance(cause, BrokenPipeError)
        keeps_code = self.quiet or ended is not ExitCode.DONE
        self.exit_code = ended if keeps_code else ExitCode.UNWRITTEN

    def after(self, ended: ExitCode) -> "ResultLostError":
        """The same loss, once it is known how the work ended."""
        return ResultLostError(self._cause, ended)


def open_missing_streams() -> None:
    """Give each closed standard stream the null device, before a file of ours gets its number.

    Whoever closes one (``>&-``) does not want to read it, so that is no failure.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free: this one
    sys.stdout = _StandardOutput.in_place_of(sys.stdout or _on(1))
    sys.stderr = sys.stderr or _on(2)
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def _on(number: int) -> TextIOWrapper:
    return open(number, "w", encoding="utf-8", closefd=False)


class _UnwritableError(Exception):
    """Standard output takes no more; tells that from the errors of all other files."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _StandardOutput(TextIOWrapper):
    """Text to standard output; a name that a terminal cannot show is no error."""

    @classmethod
    def in_place_of(cls, stream: TextIO) -> TextIO:
        if not isinstance(stream, TextIOWrapper):  # a test's
            return stream
        encoding, by_line = stream.encoding, stream.line_buffering
        return cls(stream.detach(), encoding, "backslashreplace", line_buffering=by_line)

    def write(self, text: str, /) -> int:
        with _marking():
            return super().write(text)

    def flush(self) -> None:
        with _marking():
            super().flush()


@contextmanager
def _marking() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _UnwritableError(error) from error


@contextmanager
def losing_nothing(ended: ExitCode) -> Iterator[None]:
    """Let the block write to standard output, all of it; raise ResultLostError where that fails.

    From then on it goes nowhere, so that the interpreter's end does not fail on the rest.
    """
    try:
        yield
        sys.stdout.flush()
    except _UnwritableError as error:
        _send_nowhere()
        raise ResultLostError(error.cause, ended) from error


def _send_nowhere() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def say_aside(text: str) -> None:
    """A line on standard error, or nothing where nobody can be told."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
