"""Turns functions into commands that share ``--config``, ``--json`` and the exit codes."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

import typer

from leitstand.cli.argument_check import refuse_no_text
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.options import CommonOptions, ConfigOption, JsonOption
from leitstand.logs import configure_logs

Result = ExitCode | None
"""How a command ended; None means done."""

CommandFunction = Callable[..., Result | Awaitable[Result]]


class Commands(typer.Typer):
    """The commands of one module: ``app = Commands("job")``, or ``Commands()`` for a single one.

    A command is a function, sync or async, whose first parameter is the Invocation. It returns
    None or an ExitCode; a LeitstandError that it raises is shown to the user with exit code 1
    (UsageError: 2).
    """

    def __init__(self, name: str | None = None, summary: str | None = None) -> None:
        super().__init__(
            name=name,
            help=summary,
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )

    def command(  # type: ignore[override]  # narrower on purpose: every command takes an Invocation
        self, name: str | None = None
    ) -> Callable[[CommandFunction], CommandFunction]:
        """Register the decorated function; the first line of its docstring is the summary."""

        def register(function: CommandFunction) -> CommandFunction:
            super(Commands, self).command(name)(_invoking(function))
            return function

        return register


def _invoking(function: CommandFunction) -> Callable[..., Result]:
    """``function`` as Typer calls it: with the context and the common options before its own."""

    @functools.wraps(function)
    def invoke(context: typer.Context, config: str | None, json: bool, **given: object) -> Result:
        earlier = context.find_object(CommonOptions) or CommonOptions()
        configure_logs("warning")
        refuse_no_text(given)
        call = Invocation(CommonOptions(config, json).over(earlier))
        result = function(call, **given)
        code = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
        call.output.check_written(code or ExitCode.DONE)
        return code

    _set_signature(invoke, list(inspect.signature(function, eval_str=True).parameters.values())[1:])
    return invoke


async def _awaited(result: Awaitable[Result]) -> Result:
    return await result


def _set_signature(invoke: Callable[..., Result], own: Iterable[inspect.Parameter]) -> None:
    """Tell Typer the parameters: it reads both the signature and the annotations."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", keyword, annotation=typer.Context),
        *(parameter.replace(kind=keyword) for parameter in own),
        inspect.Parameter("config", keyword, default=None, annotation=ConfigOption),
        inspect.Parameter("json", keyword, default=False, annotation=JsonOption),
    ]
    cast(Any, invoke).__signature__ = inspect.Signature(parameters)
    invoke.__annotations__ = {each.name: each.annotation for each in parameters}
