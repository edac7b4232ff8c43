"""`leitstand flag`: feature flags, whom they are on for, and what they are for a tenant."""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.app.flag_answer import evaluate_flag
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.errors import UsageError
from leitstand.flags import Evaluation, Flag, FlagChange, FlagVersion

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
    added: Annotated[
        list[str] | None,
        typer.Option("--add-target", metavar="TENANT", help="On for this tenant, too."),
    ] = None,
    removed: Annotated[
        list[str] | None,
        typer.Option("--remove-target", metavar="TENANT", help="No longer for this tenant."),
    ] = None,
    expected: Annotated[
        int | None,
        typer.Option("--expected", metavar="N", min=0, help="Only over this version; 0: none yet."),
    ] = None,
) -> None:
    """Make a flag, or change of it what is given; targets replace those before."""
    if targets and no_targets:
        raise UsageError("give either --target or --no-targets")
    wanted = frozenset(targets or ()) if targets or no_targets else None
    change = FlagChange(enabled, rollout, wanted, frozenset(added or ()), frozenset(removed or ()))
    async with open_control(call.loaded) as control:
        set_now = await control.core.flag_ledger.change(
            key, change, changed_by=call.user, expected=expected
        )
    call.output.show(set_now.as_dict(), f"{key} is on for {_whom(set_now.flag)}.")


@app.command("list")
async def list_flags(call: Invocation) -> None:
    """List all flags."""
    async with open_control(call.loaded) as control:
        flags = await control.core.flag_ledger.list_versions()
    rows = [(each.flag.key, _whom(each.flag)) for each in flags]
    call.output.show(
        [each.as_dict() for each in flags], Table(("flag", "on for"), rows, empty="No flags.")
    )


@app.command("history")
async def history(
    call: Invocation,
    key: Key,
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="At most so many.")] = 50,
) -> None:
    """Show the versions of a flag, the newest first."""
    async with open_control(call.loaded) as control:
        versions = await control.core.flag_ledger.history(key, limit=limit)
    rows = [(v.version, _what(v), moment(v.changed_at), v.changed_by or "–") for v in versions]
    table = Table(("version", "on for", "changed (UTC)", "by"), rows, right=frozenset({"version"}))
    call.output.show([version.as_dict() for version in versions], table)


@app.command("delete")
async def delete(call: Invocation, key: Key) -> None:
    """Delete a flag; it is off for all then."""
    async with open_control(call.loaded) as control:
        await control.core.flag_ledger.delete(key, changed_by=call.user)
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


def _what(version: FlagVersion) -> str:
    return "deleted" if version.deleted else _whom(version.flag)


def _whom(flag: Flag) -> str:
    if flag.enabled:
        return "all"
    parts = [f"{flag.rollout_percentage} % of tenants"] if flag.rollout_percentage else []
    return ", ".join([*parts, *sorted(flag.target_tenants)]) or "nobody"


def _sentence(evaluation: Evaluation) -> str:
    state = "on" if evaluation.value else "off"
    return f"{evaluation.key} is {state} for {evaluation.tenant} ({evaluation.reason.value})."
