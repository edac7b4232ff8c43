"""`leitstand downtime`: what a monitoring core says is down on purpose, and its messages."""

import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from leitstand.app.control import open_control
from leitstand.app.downtime_wiring import Downtimes, downtimes_of
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment, size
from leitstand.downtimes import Counts, DeadLetter, Shown, ingest
from leitstand.errors import NotFoundError, UsageError

app = Commands("downtime", "Downtimes of a monitoring core.")
letters = Commands("dead-letters", "Messages that could not be used: list, show, replay, forget.")
app.add_typer(letters)

HostOption = Annotated[str | None, typer.Option("--host", help="Of this host and its services.")]
ServiceOption = Annotated[str | None, typer.Option("--service", help="Of services of this name.")]
LetterId = Annotated[int, typer.Argument(metavar="ID", help="The letter's number.")]


@app.command("ingest")
async def ingest_file(
    call: Invocation,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Messages, one a line; standard input: -")
    ] = "-",
) -> ExitCode:
    """Take messages in from a file, as if they came from the queue."""
    with _opened(file) as lines:
        async with _downtimes(call) as downtimes:
            counts = await ingest(lines, downtimes.intake("ingest"))
    return _tell(call, counts)


@app.command("list")
async def list_scheduled(
    call: Invocation, host: HostOption = None, service: ServiceOption = None
) -> None:
    """List the downtimes that the core has scheduled or that run."""
    async with _downtimes(call) as downtimes:
        shown = await downtimes.views.scheduled(time.time(), host, service)
    _show(call, shown, "No downtimes.")


@app.command("history")
async def history(
    call: Invocation,
    host: HostOption = None,
    service: ServiceOption = None,
    limit: Annotated[int, typer.Option("-n", min=1, max=100_000, help="At most so many.")] = 1000,
) -> None:
    """List what happened, the newest first."""
    async with _downtimes(call) as downtimes:
        shown = await downtimes.views.history(time.time(), host, service, limit)
    _show(call, shown[:limit], "No downtimes yet.")


@app.command("status")
async def status(
    call: Invocation,
    host: Annotated[str, typer.Argument(metavar="HOST", help="As the core names it.")],
    service: Annotated[
        str | None, typer.Argument(metavar="[SERVICE]", help="A service on the host.")
    ] = None,
) -> None:
    """Say whether a host, or a service on it, is in downtime now, and until when."""
    async with _downtimes(call) as downtimes:
        found = await downtimes.views.status(time.time(), host, service)
    what = f"{host} {service}" if service else host
    sentence = f"{what} is not in downtime."
    if found.in_downtime:
        sentence = f"{what} is in downtime until {moment(found.until)} UTC."
    call.output.show(found.as_dict(), sentence)


@app.command("create-tables")
async def create_tables(call: Invocation) -> None:
    """Make the downtime tables that are missing; those that exist stay as they are."""
    async with _downtimes(call) as downtimes:
        names = await downtimes.target.create_tables()
    call.output.show({"tables": names}, "\n".join(("These tables are there:", *names)))


@app.command("reap")
async def reap(call: Invocation) -> None:
    """Close downtimes whose end has passed without a word from the core."""
    async with _downtimes(call) as downtimes:
        reaped = await downtimes.reap(time.time())
    document = [{"kind": r.key.kind.value, **r.key._asdict()} for r in reaped]
    rows = [(r.key.hostname, r.key.service_description, r.key.internal_downtime_id) for r in reaped]
    table = Table(("host", "service", "id"), rows, empty="Nothing is overdue.")
    call.output.show(document, table)


@letters.command("list")
async def list_letters(
    call: Invocation,
    limit: Annotated[int, typer.Option("-n", min=1, max=100_000, help="At most so many.")] = 1000,
) -> None:
    """List the messages that could not be used, the oldest first."""
    async with _downtimes(call) as downtimes:
        found = await downtimes.dead_letters.list_all(limit)
    columns = ("id", "last seen (UTC)", "reason", "detail", "size", "from")
    table = Table(columns, [_row(letter) for letter in found], empty="No dead letters.")
    call.output.show([letter.as_dict() for letter in found], table)


@letters.command("show")
async def show_letter(call: Invocation, letter_id: LetterId) -> None:
    """Show a message, its first 4 KiB, and why it could not be used."""
    async with _downtimes(call) as downtimes:
        document = (await downtimes.dead_letters.get(letter_id)).as_dict()
    call.output.show(document, details(document.items()))


@letters.command("replay")
async def replay_letters(
    call: Invocation,
    letter_ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]...", help="Numbers of letters.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, in order.")] = False,
) -> ExitCode:
    """Take messages in again; those that are accepted now are dead letters no more."""
    if everything == bool(letter_ids):
        raise UsageError("name the letters, or say --all")
    async with _downtimes(call) as downtimes:
        ids = letter_ids or await downtimes.dead_letters.ids()
        counts = await downtimes.replay(ids)
    return _tell(call, counts)


@letters.command("forget")
async def forget_letter(call: Invocation, letter_id: LetterId) -> None:
    """Delete a message for good."""
    async with _downtimes(call) as downtimes:
        await downtimes.dead_letters.forget(letter_id)
    call.output.show({"forgotten": letter_id}, f"Dead letter {letter_id} is deleted.")


@asynccontextmanager
async def _downtimes(call: Invocation) -> AsyncIterator[Downtimes]:
    async with open_control(call.loaded) as control:
        yield await downtimes_of(control)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as lines:
            yield lines
    except OSError as error:
        raise NotFoundError(f"{file} cannot be read: {error.strerror}") from error


def _tell(call: Invocation, counts: Counts) -> ExitCode:
    """Show what became of messages; some that were rejected make it a partial success."""
    ignored, rejected = counts.ignored.total(), counts.rejected.total()
    pairs: list[tuple[str, Any]] = [
        ("applied", counts.applied),
        ("ignored", _with_reasons(ignored, counts.ignored)),
        ("rejected", _with_reasons(rejected, counts.rejected)),
    ]
    call.output.show(counts.as_dict(), details(pairs))
    return ExitCode.PARTIAL if rejected else ExitCode.DONE


def _with_reasons(total: int, reasons: dict[str, int]) -> str:
    named = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    return f"{total} ({named})" if named else str(total)


def _show(call: Invocation, shown: Sequence[Shown], empty: str) -> None:
    columns = ("host", "service", "state", "from (UTC)", "until (UTC)", "author", "comment", "id")
    rows = []
    for one in shown:
        document = one.as_dict()
        rows.append(
            (
                document["hostname"],
                document["service_description"],
                document["state"],
                moment(document["actual_start_time"] or document["scheduled_start_time"]),
                moment(document.get("actual_end_time") or document["until"]),
                document["author_name"],
                document["comment_data"],
                document["internal_downtime_id"],
            )
        )
    call.output.show([one.as_dict() for one in shown], Table(columns, rows, empty=empty))


def _row(letter: DeadLetter) -> tuple[object, ...]:
    seen = moment(letter.last_seen_at)
    return (letter.id, seen, letter.reason, letter.detail, size(letter.size), letter.source)
