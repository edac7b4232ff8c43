"""`leitstand backup`: backups of PostgreSQL, taken, verified, rotated, listed; and of objects."""

from typing import Annotated

import typer

from leitstand.app.addresses import backup_source
from leitstand.app.archive_wiring import archive_settings, directory_ledger
from leitstand.archive import (
    NEWEST,
    BackupProgress,
    BackupResult,
    Generation,
    Verdict,
    VerifyProgress,
    list_generations,
    remember_directory,
    require_known_directory,
    rotate,
    take_full,
    take_incremental,
    verify_chosen,
)
from leitstand.cli.backup_objects import objects
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import counted, moment, seconds, size
from leitstand.execution import interruptible

app = Commands("backup", "Backups: make, verify, rotate and list them.")
postgres = Commands("postgres", "Backups of PostgreSQL.")
app.add_typer(postgres)
app.add_typer(objects)


@postgres.command("full")
async def full(
    call: Invocation,
    accept_directory: Annotated[
        bool, typer.Option("--accept-directory", help="Though the former backups are not there.")
    ] = False,
) -> None:
    """Take a full backup, which starts a new generation."""
    await _take(call, "full", accept_directory=accept_directory)


@postgres.command("incremental")
async def incremental(
    call: Invocation,
    full_if_needed: Annotated[
        bool, typer.Option("--full-if-needed", help="Take a full one where none can follow.")
    ] = False,
) -> None:
    """Take an increment to the newest backup."""
    await _take(call, "incremental", full_if_needed=full_if_needed)


async def _take(
    call: Invocation, mode: str, *, full_if_needed: bool = False, accept_directory: bool = False
) -> None:
    archive = archive_settings(call.settings)
    async with backup_source(call.settings) as conninfo:
        repository = archive.repository(conninfo)
        if not accept_directory:
            async with directory_ledger(call.settings) as ledger:
                await require_known_directory(ledger, archive.directory)
        with call.output.progress(f"{mode} backup") as show, interruptible():

            def report(progress: BackupProgress) -> None:
                show(progress.percent, progress.phase)

            if mode == "full":
                taken = take_full(repository, report)
            else:
                taken = take_incremental(repository, report, full_if_needed=full_if_needed)
        async with directory_ledger(call.settings) as ledger:
            await remember_directory(ledger, archive.directory, taken.generation)
    call.output.show(taken.as_dict(), _about(taken))


@postgres.command("verify")
def verify(
    call: Invocation,
    generation: Annotated[
        str, typer.Argument(metavar="GEN", help="A generation, 'newest' or 'all'.")
    ] = NEWEST,
) -> ExitCode:
    """Read every byte of a generation, and check that its backups follow one another."""
    archive = archive_settings(call.settings)
    with call.output.progress("verification") as show, interruptible():

        def report(progress: VerifyProgress) -> None:
            percent = 100 * progress.bytes_read / max(1, progress.bytes_total)
            show(percent, f"{progress.stage} {progress.file}")

        verdicts = verify_chosen(archive, generation, report)
    documents = [verdict.as_dict() for verdict in verdicts]
    call.output.show(documents if generation == "all" else documents[0], *map(_verdict, verdicts))
    return ExitCode.DONE if all(verdict.ok for verdict in verdicts) else ExitCode.FAILURE


@postgres.command("rotate")
def rotate_generations(
    call: Invocation,
    keep: Annotated[
        int | None, typer.Option("--keep", help="How many of the newest; as configured.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the decisions.")] = False,
) -> ExitCode:
    """Remove old generations, but never the newest that is proven."""
    archive = archive_settings(call.settings)
    with interruptible():
        done = rotate(archive.directory, archive.policy_keeping(keep), dry_run=dry_run)
    rows = [
        (decision.id, "keep" if decision.keep else "remove", "; ".join(decision.reasons))
        for decision in done.plan.decisions
    ]
    failures = [f"{failure.generation}: {failure.problem}" for failure in done.failures]
    postponed = [f"{name} is in use; the next rotation removes it." for name in done.postponed]
    table = Table(("generation", "decision", "why"), rows, empty="There are no generations.")
    call.output.show(done.as_dict(), table, *postponed, *failures)
    return ExitCode.PARTIAL if failures else ExitCode.DONE


@postgres.command("list")
def list_backups(call: Invocation) -> None:
    """List the generations."""
    directory = archive_settings(call.settings).directory
    generations = list_generations(directory)
    columns = (
        *("generation", "state", "increments", "size", "taken (UTC)", "verified", "drilled"),
        "drilled to",
    )
    rows = [_row(generation) for generation in generations]
    problems = [
        f"{generation.id} {found.sentence}"
        for generation in generations
        for found in generation.findings
    ]
    empty = f"There is no backup in {directory}."
    table = Table(columns, rows, frozenset({"increments", "size"}), empty=empty)
    call.output.show([generation.as_dict() for generation in generations], table, *problems)


def _row(generation: Generation) -> tuple[object, ...]:
    return (
        generation.id,
        generation.state.value,
        len(generation.increments),
        size(generation.size),
        moment(generation.finished_at),
        moment(generation.verified_at),
        moment(generation.drilled_at),
        _drilled_to(generation),
    )


def _drilled_to(generation: Generation) -> str:
    drilled = sum(stage.drilled_at is not None for stage in generation.stages)
    return f"{drilled} of {counted(len(generation.stages), 'stage')}"


def _about(taken: BackupResult) -> str:
    text = (
        f"{taken.kind.value.capitalize()} backup {taken.id} of generation {taken.generation}: "
        f"{size(taken.bytes)} in {seconds(taken.duration)}, verified."
    )
    return text if taken.full_reason is None else f"{text}\nA full one, since {taken.full_reason}."


def _verdict(verdict: Verdict) -> Table | str:
    if verdict.ok:
        stages = counted(len(verdict.stages), "stage")
        text = f"{verdict.generation} is sound: {stages}, {size(verdict.bytes_read)} read."
        return "\n".join((text, *(f"  {note.sentence}" for note in verdict.notes)))
    rows = [(found.stage, found.file, found.problem) for found in verdict.findings]
    return Table((f"{verdict.generation} is damaged in", "file", "problem"), rows)
