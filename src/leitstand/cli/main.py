"""The entry point of `leitstand`: finds the command, runs it, turns its end into an exit code."""

import itertools
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from leitstand.cli.command_table import COMMANDS
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.options import CommonOptions, ConfigOption, JsonOption
from leitstand.cli.streams import losing_nothing, open_missing_streams
from leitstand.errors import UsageError

SUMMARY = "Leitstand: jobs that end honestly, backups that are proved."


def main() -> None:
    """Run the command of this process's arguments and exit with its code."""
    open_missing_streams()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> ExitCode:
    """Run one command; everything it had to say has been written when this returns."""
    try:
        # Commands account for what they say; only Typer's help fails here.
        with losing_nothing(ExitCode.DONE):
            return _answer(list(arguments) or ["--help"])
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        return _failed(error, json=_wants_json(arguments))


def _answer(arguments: list[str]) -> ExitCode:
    try:
        result = _application(arguments)(arguments, prog_name="leitstand", standalone_mode=False)
    except typer.TyperException as error:
        raise _usage_error(error) from error
    return ExitCode(result or 0)


def _application(arguments: Sequence[str]) -> typer.Typer:
    """All commands: those among the arguments with their module, the others by name alone."""
    application = typer.Typer(
        help=SUMMARY, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    application.callback()(_common_options)
    for name, entry in COMMANDS.items():
        if name in arguments:
            application.add_typer(import_module(entry.module).app)
        else:
            application.command(name, help=entry.summary)(_not_loaded)
    return application


def _not_loaded() -> None:
    """Stands for a command in the list of all; it cannot be called, not being an argument."""
    raise AssertionError("unreachable")


def _common_options(
    context: typer.Context, config: ConfigOption = None, json: JsonOption = False
) -> None:
    context.obj = CommonOptions(config, json)


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether an error is wanted as JSON: asked before the arguments could be understood."""
    return "--json" in itertools.takewhile(lambda argument: argument != "--", arguments)


def _usage_error(error: typer.TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "leitstand"
    said = error.format_message().replace("Value error, ", "")
    return UsageError(said, remedy=f"See `{command} --help`.")


def _failed(error: Exception, *, json: bool) -> ExitCode:
    # Imported here since nothing failed in most calls, and failing may take a moment longer.
    from leitstand.cli.failure import exit_code_of, show_failure  # noqa: PLC0415

    show_failure(error, json=json, environ=os.environ)
    return exit_code_of(error)
