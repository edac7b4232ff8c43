"""`leitstand window`: the times at which jobs may not start, or may start only."""

from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.jobs import DatedWindow, Window, parse_window
from leitstand.nearest import no_such

app = Commands("window", "Maintenance windows: list, add and delete them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The window's name.")]
Several = list[str] | None


@app.command("list")
async def list_windows(call: Invocation) -> None:
    """List all windows."""
    async with open_control(call.loaded) as control:
        windows = await control.windows.list_all()
    columns = ("window", "open", "concerns", "reason")
    rows = [(w.name, _opening(w), _concerns(w), w.reason) for w in windows]
    call.output.show([w.as_dict() for w in windows], Table(columns, rows, empty="No windows."))


@app.command("add")
async def add(
    call: Invocation,
    name: Name,
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help='"22:00", or "2026-12-24 18:00".')
    ],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="When it ends, written alike.")],
    days: Annotated[
        str | None, typer.Option("--days", help='Days on which it starts, such as "mon-fri,sun".')
    ] = None,
    timezone: Annotated[str, typer.Option("--timezone", help="The zone of these times.")] = "UTC",
    jobs: Annotated[Several, typer.Option("--job", help="A job; may be repeated.")] = None,
    tags: Annotated[Several, typer.Option("--tag", help="Jobs with this tag.")] = None,
    hosts: Annotated[Several, typer.Option("--host", help="Jobs bound to this host.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="What it is for.")] = "",
) -> None:
    """Create the window, or replace the one of that name."""
    document: dict[str, Any] = {
        "name": name,
        "from": begin,
        "to": end,
        "days": days or (),
        "timezone": timezone,
        "jobs": jobs or (),
        "tags": tags or (),
        "hosts": hosts or (),
        "reason": reason,
    }
    spec = parse_window(document)
    async with open_control(call.loaded) as control:
        window = await control.windows.save(spec)
        names = [job.name for job in await control.jobs.list_all()]
    for unknown in sorted(window.jobs.difference(names)):
        missing = no_such("job", unknown, names, "It counts once there is one.")
        call.output.note(f"Warning: {missing.message}. {missing.remedy}")
    shown = [("window", window.name), ("open", _opening(window)), ("concerns", _concerns(window))]
    call.output.show(window.as_dict(), details(shown))


@app.command("delete")
async def delete(call: Invocation, name: Name) -> None:
    """Delete the window; what waits for its end alone runs at once."""
    async with open_control(call.loaded) as control:
        await control.windows.delete(name)
    call.output.show({"deleted": name}, f"Window {name} is deleted.")


def _opening(window: Window) -> str:
    if isinstance(window.opening, DatedWindow):
        return f"{moment(window.opening.start)} to {moment(window.opening.end)} UTC"
    return str(window.opening)


def _concerns(window: Window) -> str:
    named = {"job": window.jobs, "tag": window.tags, "host": window.hosts}
    parts = [f"{kind} {name}" for kind, names in named.items() for name in sorted(names)]
    return ", ".join(parts) or "all jobs"
