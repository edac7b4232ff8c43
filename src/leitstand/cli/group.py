"""`leitstand group`: how many runs of jobs that share a group may work at a time."""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import counted
from leitstand.nearest import no_such

app = Commands("group", "Groups of jobs: list them, set how many runs work at a time.")


@app.command("list")
async def list_groups(call: Invocation) -> None:
    """List all groups with their limits and what runs and waits in them."""
    async with open_control(call.loaded) as control:
        groups = await control.jobs.list_groups()
    rows = [(group.name, group.limit, group.running, group.waiting) for group in groups]
    table = Table(("group", "limit", "running", "waiting"), rows, empty="No groups.")
    call.output.show([group.as_dict() for group in groups], table)


@app.command("limit")
async def set_limit(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")],
    limit: Annotated[int, typer.Argument(metavar="N", min=1, max=10_000, help="Runs at a time.")],
) -> None:
    """Set how many runs of a group may work at a time, over all control servers."""
    async with open_control(call.loaded) as control:
        groups = {group.name: group for group in await control.jobs.list_groups()}
        if name not in groups:
            raise no_such("group", name, groups, "A group begins with a job that names it.")
        await control.jobs.set_group_limit(name, limit)
    document = {**groups[name].as_dict(), "limit": limit}
    call.output.show(document, f"From now on at most {counted(limit, 'run')} of {name} at a time.")
