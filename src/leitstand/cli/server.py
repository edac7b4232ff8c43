"""`leitstand server`: the control servers on this database."""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment, seconds

app = Commands("server", "Control servers: list and drain them.")


@app.command("list")
async def list_servers(call: Invocation) -> None:
    """List the control servers that were seen within a day."""
    async with open_control(call.loaded) as control:
        servers = await control.servers.list_all()
    columns = ("instance", "host", "since (UTC)", "silent for", "running", "state")
    rows = [
        (
            s.instance,
            s.host,
            moment(s.started_at),
            seconds(s.silent_for),
            f"{s.running} of {s.max_concurrent_runs}",
            "draining" if s.draining else "",
        )
        for s in servers
    ]
    empty = "No control server is running."
    call.output.show([server.as_dict() for server in servers], Table(columns, rows, empty=empty))


@app.command("drain")
async def drain(
    call: Invocation,
    instance: Annotated[
        str | None, typer.Argument(metavar="INSTANCE", help="All of them when left out.")
    ] = None,
) -> None:
    """Have a server claim nothing more; what it runs goes on, then it can be stopped."""
    async with open_control(call.loaded) as control:
        servers = await control.servers.list_all()
        names = [server.instance for server in servers] if instance is None else [instance]
        for name in names:
            await control.servers.drain(name)
    call.output.show({"draining": names}, f"Draining: {', '.join(names) or 'none'}.")
