"""`leitstand backup objects`: snapshots of directories, taken, checked, rotated and listed."""

from pathlib import Path
from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.archive import (
    SHOWN,
    CheckRequest,
    ListedSnapshot,
    ObjectBackup,
    back_up_objects,
    backup_lines,
    check_objects,
    list_snapshots,
    open_repository,
    rotate_objects,
)
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment, seconds, size
from leitstand.execution import interruptible

objects = Commands("objects", "Backups of objects: directories of files.")


@objects.command("init")
async def init(
    call: Invocation,
    forget_former: Annotated[
        bool, typer.Option("--forget-former", help="What was there before may be replaced.")
    ] = False,
) -> None:
    """Make the repository, unless it is there; the first backup does it, too."""
    async with open_control(call.loaded) as control:
        archive = control.objects
        if forget_former:
            await archive.ledger.forget(archive.repository.shown)
        opened = await open_repository(archive.repository, archive.ledger, create=True)
    made = "was made" if opened.created else "is there"
    call.output.show(
        {"repository": opened.id, "created": opened.created},
        f"The repository {opened.id[:SHOWN]} {made}: {archive.repository.shown}",
    )


@objects.command("backup")
async def backup(
    call: Invocation,
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="What goes into the snapshot.")
    ],
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="A DIR may be empty that was not before.")
    ] = False,
) -> ExitCode:
    """Take a snapshot of directories; only what is new is stored."""
    wanted = [directory.absolute() for directory in directories]
    async with open_control(call.loaded) as control:
        with call.output.progress("backup") as show, interruptible():
            made = await back_up_objects(wanted, control.objects, show, allow_empty=allow_empty)
    call.output.show(made.as_dict(), details(_facts(made)), *backup_lines(made)[1:])
    return ExitCode.PARTIAL if made.is_partial else ExitCode.DONE


@objects.command("check")
async def check(
    call: Invocation,
    read_data: Annotated[
        bool, typer.Option("--read-data", help="Read every block, not only the structure.")
    ] = False,
    slices: Annotated[
        int, typer.Option("--slices", min=1, max=256, help="Read only the next of so many parts.")
    ] = 1,
    accept_missing: Annotated[
        bool, typer.Option("--accept-missing", help="No longer expect snapshots that are gone.")
    ] = False,
) -> ExitCode:
    """Check the repository, and that all snapshots are in it that should be."""
    request = CheckRequest(read_data or slices > 1, slices, accept_missing)
    async with open_control(call.loaded) as control:
        with call.output.progress("check"), interruptible():
            result = await check_objects(control.objects, request)
    read = f", part {result.slice} of {result.slices} of the data read" if result.slice else ""
    summary = f"The repository is sound: {result.snapshots} snapshots{read}."
    call.output.show(result.as_dict(), *(result.findings or (summary,)))
    return ExitCode.DONE if result.ok else ExitCode.FAILURE


@objects.command("rotate")
async def rotate(
    call: Invocation,
    keep: Annotated[
        int | None, typer.Option("--keep", help="How many of the newest; as configured.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the decisions.")] = False,
) -> None:
    """Remove old snapshots and unused data, but never the newest that is proven."""
    async with open_control(call.loaded) as control:
        with call.output.progress("rotation") as show, interruptible():
            done = await rotate_objects(
                control.objects, keep, dry_run=dry_run, report=lambda phase: show(None, phase)
            )
    rows = [
        (decision.id[:SHOWN], "keep" if decision.keep else "remove", "; ".join(decision.reasons))
        for decision in done.decisions
    ]
    table = Table(("snapshot", "decision", "why"), rows, empty="There are no snapshots.")
    freed = [] if done.freed is None else [f"{size(done.freed)} freed."]
    call.output.show(done.as_dict(), table, *freed)


@objects.command("list")
async def list_objects(call: Invocation) -> None:
    """List the snapshots."""
    async with open_control(call.loaded) as control:
        listed = await list_snapshots(control.objects)
    columns = ("snapshot", "state", "files", "size", "taken (UTC)", "verified", "drilled", "of")
    table = Table(
        columns,
        [_row(each) for each in listed],
        frozenset({"files", "size"}),
        empty="There is no snapshot yet.",
    )
    problems = [f"{each.id[:SHOWN]}: {line}" for each in listed for line in each.problems]
    call.output.show([each.as_dict() for each in listed], table, *problems)


def _row(each: ListedSnapshot) -> tuple[object, ...]:
    return (
        each.id[:SHOWN],
        each.state.value,
        "–" if each.files is None else each.files,
        size(each.bytes),
        moment(each.taken_at),
        moment(each.verified_at),
        moment(each.drilled_at),
        ", ".join(each.paths),
    )


def _facts(made: ObjectBackup) -> list[tuple[str, object]]:
    counts = made.counts
    return [
        ("snapshot", made.snapshot.id[:SHOWN] + (" (partial)" * made.is_partial)),
        ("new files", counts.files_new),
        ("changed", counts.files_changed),
        ("unmodified", counts.files_unmodified),
        ("new blobs", counts.data_blobs),
        ("added", f"{size(counts.bytes_added)} of {size(counts.bytes_processed)}"),
        ("took", seconds(counts.duration)),
    ]
