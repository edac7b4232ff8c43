"""Shows what went wrong, to people as sentences and to scripts as JSON, and gives the exit code."""

import traceback
from collections.abc import Mapping

from leitstand.cli.exit_code import ExitCode
from leitstand.cli.streams import ResultLostError, say_aside
from leitstand.cli.table import printable
from leitstand.errors import LeitstandError, UsageError
from leitstand.json_document import to_json
from leitstand.masking import mask_url


def exit_code_of(error: Exception) -> ExitCode:
    """2 for a command that makes no sense, that of the work if only its words were lost, else 1."""
    if isinstance(error, ResultLostError):
        return error.exit_code
    return ExitCode.USAGE if isinstance(error, UsageError) else ExitCode.FAILURE


def as_leitstand_error(error: Exception) -> LeitstandError:
    """An error that nobody foresaw, in the form of those that somebody did."""
    if isinstance(error, LeitstandError):
        return error
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return LeitstandError(
        f"unexpected {type(error).__name__}: {error}",
        detail=f"raised in {frame.filename}, line {frame.lineno}",
        remedy="This is a fault of Leitstand. LEITSTAND_DEBUG=1 shows the traceback; "
        "please report it with that.",
    )


def show_failure(error: Exception, *, json: bool, environ: Mapping[str, str]) -> None:
    """Write the error to standard error: as one JSON document, or as its sentences.

    Passwords that got into a text from a driver or a program are masked. With LEITSTAND_DEBUG
    set, people see the traceback, too.
    """
    if isinstance(error, ResultLostError) and error.quiet:
        return
    shown = as_leitstand_error(error).as_dict()
    masked = {name: text and mask_url(text) for name, text in shown.items()}
    if json:
        say_aside(to_json(masked))
        return
    if environ.get("LEITSTAND_DEBUG"):
        say_aside(mask_url("".join(traceback.format_exception(error))))
    say_aside("\n".join(_sentences(masked)))


def _sentences(error: Mapping[str, str | None]) -> list[str]:
    lines = [f"Error [{error['code']}]: {error['message']}"]
    lines += [f"  {line}" for line in (error["detail"] or "").split("\n") if line]
    lines += [error["remedy"]] if error["remedy"] else []
    return [printable(line) for line in lines]
