"""`leitstand notify`: the queue of messages to people."""

import json
from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.app.notification_wiring import address_book
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.errors import UsageError
from leitstand.notifications import CHANNELS, Status
from leitstand.notifications import Notification as Stored

app = Commands("notify", "Notifications: send, list and retry messages to people.")


@app.command("send")
async def send(
    call: Invocation,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help=", ".join(CHANNELS))],
    recipient: Annotated[
        str, typer.Argument(metavar="RECIPIENT", help="Address, URL, log, or a contact's name.")
    ],
    payload: Annotated[
        str, typer.Option("--payload", metavar="JSON", help="What it says: an object.")
    ] = "{}",
) -> None:
    """Put a notification into the queue; a control server sends it at once."""
    if channel not in CHANNELS:
        raise UsageError(
            f"there is no channel {channel!r}", remedy=f"Channels are {', '.join(CHANNELS)}."
        )
    document = read_payload(payload)
    async with open_control(call.loaded) as control:
        number = await control.outbox.enqueue(channel, recipient, document)
        stored = await control.outbox.get(number)
    call.output.show(stored.as_dict(), f"Notification {number} waits to be sent.")


@app.command("list")
async def list_notifications(
    call: Invocation,
    status: Annotated[Status | None, typer.Option("--status", help="Only those that are …")] = None,
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="At most so many.")] = 50,
) -> None:
    """List notifications, newest first."""
    async with open_control(call.loaded) as control:
        found = await control.outbox.list_all(status, limit=limit)
    columns = ("id", "stored (UTC)", "channel", "recipient", "status", "attempts", "last error")
    rows = [_row(each) for each in found]
    table = Table(columns, rows, right=frozenset({"id"}), empty="No notifications.")
    call.output.show([each.as_dict() for each in found], table)


@app.command("retry")
async def retry(
    call: Invocation,
    number: Annotated[
        int | None, typer.Argument(metavar="ID", help="A notification that has failed.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that have failed.")] = False,
) -> None:
    """Have a notification that has failed tried anew, or all of them."""
    if (number is None) != every:
        raise UsageError("give either the id of a notification or --all")
    async with open_control(call.loaded) as control:
        if number is None:
            retried = await control.outbox.retry_failed()
            call.output.show({"retried": retried}, f"{retried} wait to be sent.")
            return
        again = await control.outbox.retry(number)
    call.output.show(again.as_dict(), f"Notification {number} waits to be sent.")


@app.command("contacts")
async def list_contacts(call: Invocation) -> None:
    """List who can be written to by name, and how."""
    entries = address_book(call.settings).entries()
    rows = [(e.name, e.transport or "", ", ".join(e.reaches)) for e in entries]
    table = Table(("name", "by", "reaches"), rows)
    call.output.show([entry.as_dict() for entry in entries], table)


@app.command("test")
async def send_test(
    call: Invocation,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A contact, default or log: `notify contacts`.")
    ],
) -> None:
    """Put a test message into the queue for each whom the name reaches."""
    drafts = address_book(call.settings).tests(name, call.user)
    async with open_control(call.loaded) as control:
        numbers = await control.outbox.enqueue_all(drafts)
        stored = [await control.outbox.get(number) for number in numbers]
    waiting = f"Waiting to be sent: {', '.join(str(number) for number in numbers)}."
    call.output.show([each.as_dict() for each in stored], waiting)


@app.command("process")
async def process(
    call: Invocation,
    limit: Annotated[int, typer.Option("-n", min=1, help="At most so many.")] = 1000,
) -> ExitCode:
    """Send what is due now; exit code 1 when one has failed for good, 3 when one is tried again."""
    async with open_control(call.loaded) as control:
        tally = await control.dispatcher.process_due(limit)
    counts = tally.as_dict()
    call.output.show(counts, ", ".join(f"{name} {count}" for name, count in counts.items()))
    if tally.failed:
        return ExitCode.FAILURE
    return ExitCode.PARTIAL if tally.retried else ExitCode.DONE


def read_payload(text: str) -> dict[str, Any]:
    """The object that the JSON text is; raises UsageError."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--payload is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise UsageError("--payload is a JSON object", remedy="""As in '{"message": "hello"}'.""")
    return document


def _row(one: Stored) -> tuple[object, ...]:
    shown = one.as_dict()
    attempts = f"{one.attempts} of {one.max_attempts}"
    status = f"{one.status.value}{' (in doubt)' if one.in_doubt else ''}"
    stored = moment(one.created_at)
    return one.id, stored, one.channel, shown["recipient"], status, attempts, one.last_error
