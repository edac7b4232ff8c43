"""`leitstand server`: the control servers on this database."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from leitstand.app.control import Control, open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import counted, moment, seconds
from leitstand.jobs import AgentInfo

LOOK_AGAIN = 0.3
"""Seconds between two looks at servers that are being waited for."""

app = Commands("server", "Control servers: list and drain them.")


@app.command("list")
async def list_servers(
    call: Invocation,
    only_agents: Annotated[
        bool, typer.Option("--agents", help="List remote agents, with --json them alone.")
    ] = False,
) -> None:
    """List the control servers, and the remote agents, that were seen within a day."""
    async with open_control(call.loaded) as control:
        servers = await control.servers.list_all()
        agents = await control.agents.list_all()
    if only_agents:
        call.output.show([agent.as_dict() for agent in agents], _agents(agents))
        return
    columns = ("instance", "host", "since (UTC)", "state", "last heartbeat", "running")
    rows = [
        (
            s.instance,
            s.host,
            moment(s.started_at),
            s.state.value,
            f"{seconds(s.silent_for)} ago",
            f"{s.running} of {s.max_concurrent_runs}",
        )
        for s in servers
    ]
    table = Table(columns, rows, empty="No control server is running.")
    below = ("", _agents(agents)) if agents else ()
    call.output.show([server.as_dict() for server in servers], table, *below)


def _agents(agents: Sequence[AgentInfo]) -> Table:
    columns = ("agent", "host", "since (UTC)", "silent for", "running", "kinds", "words")
    rows = [
        (
            a.instance,
            a.host,
            moment(a.started_at),
            seconds(a.silent_for),
            ", ".join(f"{count} {kind}" for kind, count in sorted(a.running.items())),
            ", ".join(a.kinds),
            ", ".join((a.name, *a.tags)),
        )
        for a in agents
    ]
    return Table(columns, rows, empty="No agent is connected.")


@app.command("drain")
async def drain(
    call: Invocation,
    instance: Annotated[
        str | None, typer.Argument(metavar="INSTANCE", help="All of them when left out.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until nothing runs there any more.")
    ] = True,
) -> None:
    """Have a server claim nothing more, and wait until what it runs has ended."""
    async with open_control(call.loaded) as control:
        servers = await control.servers.list_all()
        names = [server.instance for server in servers] if instance is None else [instance]
        for name in names:
            await control.servers.drain(name)
        running = await _idle(call, control, names) if wait else await _running(control, names)
    said = f"Draining: {', '.join(names)}; {counted(running, 'run')} still active."
    if not names:
        said = "No control server is running."
    call.output.show({"draining": names, "running": running}, said)


async def _idle(call: Invocation, control: Control, names: list[str]) -> int:
    with call.output.progress("draining") as report:
        while running := await _running(control, names):
            report(None, f"{counted(running, 'run')} still active")
            await asyncio.sleep(LOOK_AGAIN)
    return 0


async def _running(control: Control, names: list[str]) -> int:
    servers = await control.servers.list_all()
    return sum(server.running for server in servers if server.instance in names)
