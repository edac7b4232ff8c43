"""`leitstand flag`: feature flags, whom they are on for, and what they are for a tenant."""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.app.flag_answer import evaluate_flag
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.errors import UsageError
from leitstand.flags import Evaluation, Flag, FlagChange

app = Commands("flag", "Feature flags: set, list and evaluate them.")

Key = Annotated[str, typer.Argument(metavar="KEY", help="The flag's key.")]


@app.command("set")
async def set_flag(
    call: Invocation,
    key: Key,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Whether it is on for all.")
    ] = None,
    rollout: Annotated[
        int | None, typer.Option("--rollout", metavar="P", help="On for P per cent of tenants.")
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option("--target", metavar="TENANT", help="On for this tenant; may be repeated."),
    ] = None,
    no_targets: Annotated[
        bool, typer.Option("--no-targets", help="On for no tenant in particular.")
    ] = False,
) -> None:
    """Make a flag, or change of it what is given; targets replace those before."""
    if targets and no_targets:
        raise UsageError("give either --target or --no-targets")
    wanted = frozenset(targets or ()) if targets or no_targets else None
    async with open_control(call.loaded) as control:
        flag = await control.core.flag_ledger.change(key, FlagChange(enabled, rollout, wanted))
    call.output.show(flag.as_dict(), f"{key} is on for {_whom(flag)}.")


@app.command("list")
async def list_flags(call: Invocation) -> None:
    """List all flags."""
    async with open_control(call.loaded) as control:
        flags = await control.core.flag_ledger.list_all()
    rows = [(flag.key, _whom(flag)) for flag in flags]
    call.output.show(
        [flag.as_dict() for flag in flags], Table(("flag", "on for"), rows, empty="No flags.")
    )


@app.command("delete")
async def delete(call: Invocation, key: Key) -> None:
    """Delete a flag; it is off for all then."""
    async with open_control(call.loaded) as control:
        await control.core.flag_ledger.delete(key)
    call.output.show({"deleted": key}, f"{key} is deleted.")


@app.command("eval")
async def evaluate(
    call: Invocation,
    key: Key,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="For whom.")],
) -> None:
    """Say whether a flag is on for a tenant; as last known if the database does not answer."""
    evaluation = await evaluate_flag(call.loaded, key, tenant)
    call.output.show(evaluation.as_dict(), _sentence(evaluation))


def _whom(flag: Flag) -> str:
    if flag.enabled:
        return "all"
    parts = [f"{flag.rollout_percentage} % of tenants"] if flag.rollout_percentage else []
    return ", ".join([*parts, *sorted(flag.target_tenants)]) or "nobody"


def _sentence(evaluation: Evaluation) -> str:
    state = "on" if evaluation.value else "off"
    return f"{evaluation.key} is {state} for {evaluation.tenant} ({evaluation.reason.value})."
