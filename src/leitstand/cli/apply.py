"""`leitstand apply`: makes the jobs in the database agree with a file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.app.jobs_as_code import apply_file
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.jobs import Action, Change, FieldChange, Plan

app = Commands()

SIGNS = {Action.CREATED: "+", Action.CHANGED: "~", Action.REMOVED: "-"}
LONGEST_SHOWN = 60
"""Characters of a value that a line of the difference shows."""


@app.command("apply")
async def apply(
    call: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML with [[job]] and so on.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the difference and write nothing.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what a file wrote and this one does not name.")
    ] = False,
) -> None:
    """Make jobs, groups and windows agree with a file, all of it or nothing."""
    async with open_control(call.loaded) as control:
        plan = await apply_file(control, file, prune=prune, dry_run=dry_run)
    if not plan.changes:
        call.output.note(f"Warning: {file} names no jobs, groups or windows.")
    for warning in plan.warnings:
        call.output.note(f"Warning: {warning}.")
    document = {"file": file, "dry_run": dry_run, **plan.as_dict()}
    call.output.show(document, "\n".join([*difference(plan), _sum(plan, dry_run)]))


def difference(plan: Plan) -> Iterator[str]:
    """One line for each thing that comes or goes, and for each field that changes."""
    for change in plan.differences:
        yield from _lines(change)


def _lines(change: Change) -> Iterator[str]:
    head = f"{SIGNS[change.action]} {change.thing} {change.name}"
    if change.action is not Action.CHANGED:
        yield head
    if change.taken_over:
        yield f"{head}: was made or changed by hand; from now on the file manages it"
    for field in change.fields:
        yield f"{head}: {_field(field)}"


def _field(field: FieldChange) -> str:
    before, after = _value(field.before), _value(field.after)
    return f"{field.field} {before} -> {after}" if before != after else f"{field.field} changes"


def _value(value: object) -> str:
    if value is None:
        return "(none)"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _sum(plan: Plan, dry_run: bool) -> str:
    counts = ", ".join(f"{plan.count(action)} {action}" for action in Action)
    return f"{counts}.{' Nothing was written.' if dry_run else ''}"
