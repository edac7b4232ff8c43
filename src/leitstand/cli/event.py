"""`leitstand event`: what happened, and what can happen."""

import json
from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.app.event_wiring import event_catalogue
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.errors import UsageError
from leitstand.events import Event, EventState, NewEvent
from leitstand.jobs import listening_jobs
from leitstand.json_document import to_json
from leitstand.nearest import chosen

app = Commands("event", "Events: emit and list them, see which can happen.")

SOURCE = "command"
"""The source of events that somebody emits by hand or in a script."""


@app.command("emit")
async def emit(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The event's name.")],
    payload: Annotated[
        str, typer.Option("--payload", metavar="JSON", help="An object with what is to be told.")
    ] = "{}",
) -> None:
    """Say that something happened; jobs that listen to it run."""
    event = NewEvent(name, SOURCE, _payload(payload))
    async with open_control(call.loaded) as control:
        stored = await control.events.emit(event)
        heard = name in await control.jobs.listened_to()
    if stored is None:
        raise AssertionError("an event without a message id is always stored")
    call.output.show(stored.as_dict(), f"Event {stored.id}, {name}, is stored.")
    if not heard:
        call.output.note(f"No enabled job listens to {name}.")


@app.command("list")
async def list_events(
    call: Invocation,
    name: Annotated[str | None, typer.Option("--name", help="Only events of this name.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="Only events that are …")] = None,
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="At most so many.")] = 50,
) -> None:
    """List events, newest first."""
    wanted = None if state is None else chosen("state", state, EventState)
    async with open_control(call.loaded) as control:
        events = await control.events.list_events(name, wanted, limit=limit)
    columns = ("event", "name", "source", "occurred (UTC)", "state", "run", "payload")
    rows = [_row(event) for event in events]
    call.output.show(
        [event.as_dict() for event in events], Table(columns, rows, empty="No events.")
    )


@app.command("show")
async def show(
    call: Invocation,
    event_id: Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1)],
) -> None:
    """Show an event with its whole payload."""
    async with open_control(call.loaded) as control:
        event = (await control.events.get(event_id)).as_dict()
    call.output.show(event, to_json(event))


@app.command("listeners")
async def listeners(call: Invocation) -> None:
    """List the jobs that events start, and whether something here produces those."""
    async with open_control(call.loaded) as control:
        found = listening_jobs(await control.jobs.list_all())
    rows = [
        (
            f"{each.event} (unknown event)" if each.unknown_event else each.event,
            each.job,
            "yes" if each.enabled else "no",
            each.deliver,
        )
        for each in found
    ]
    table = Table(("event", "job", "enabled", "deliver"), rows, empty="No job listens to events.")
    call.output.show([each.as_dict() for each in found], table)


@app.command("catalog")
def catalog(call: Invocation) -> None:
    """List the events that something here produces."""
    entries = event_catalogue(call.loaded.settings).entries
    rows = [(e.name, e.source, e.description, ", ".join(e.fields)) for e in entries]
    table = Table(("name", "source", "what happened", "payload"), rows)
    call.output.show([entry.as_dict() for entry in entries], table)


def _row(event: Event) -> tuple[object, ...]:
    payload = json.dumps(event.payload, ensure_ascii=False)
    shown = payload if len(payload) <= 80 else payload[:79] + "…"
    occurred = moment(event.occurred_at)
    return event.id, event.name, event.source, occurred, event.state.value, event.run, shown


def _payload(text: str) -> dict[str, Any]:
    try:
        payload = json.loads(text)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise UsageError(
            "the payload is not a JSON object", remedy="""Write it like '{"host": "web1"}'."""
        )
    return payload
