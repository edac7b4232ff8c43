"""`leitstand drill`: proves that a backup comes back."""

from typing import Annotated

import typer

from leitstand.app.archive_wiring import joint_drill, object_drill
from leitstand.app.control import open_control
from leitstand.archive import (
    Drill,
    DrillKind,
    as_document,
    drill_database,
    drill_in_turn,
    drill_objects,
    drill_together,
)
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment, seconds
from leitstand.errors import UsageError
from leitstand.execution import interruptible

app = Commands("drill", "Restore drills: run one now, see the results.")


@app.command("run")
async def run_drill(
    call: Invocation,
    kind: Annotated[DrillKind, typer.Option("--kind", help="What to restore.")] = (
        DrillKind.DATABASE
    ),
    generation: Annotated[
        str | None, typer.Option("--generation", metavar="GEN", help="Not the newest, but this.")
    ] = None,
    snapshot: Annotated[
        str | None, typer.Option("--snapshot", metavar="SNAP", help="The same for objects.")
    ] = None,
    upto: Annotated[
        str | None,
        typer.Option("--upto", metavar="ID", help="Of --generation: 'full' or an increment."),
    ] = None,
    older: Annotated[
        int, typer.Option("--older", metavar="N", min=0, help="So many others, in turn, too.")
    ] = 0,
    with_objects: Annotated[
        bool, typer.Option("--with-objects", help="Database and objects together: do they match?")
    ] = False,
) -> ExitCode:
    """Restore a backup to an isolated place, prove that it is sound, remove it."""
    if with_objects:
        _check_pair(kind, generation or upto, older)
    else:
        _check_choice(kind, generation, snapshot, upto, older)
    async with open_control(call.loaded) as control:
        with call.output.progress(f"{kind.value} drill") as show, interruptible():

            def say(phase: str) -> None:
                show(None, phase)

            if with_objects:
                pair = joint_drill(call.settings, snapshot, control.database)
                drills = [await drill_together(pair, say)]
            elif kind is DrillKind.OBJECTS:
                wanted = object_drill(call.settings, snapshot, control.database.conninfo)
                drills = [await drill_objects(wanted, control.objects, say)]
            elif older:
                drills = drill_in_turn(control.archive, older, say)
            else:
                drills = [drill_database(control.archive, generation, say, upto=upto)]
        for drill in drills:
            await control.drills.record(drill)
    call.output.show(as_document(drills), *(details(_facts(drill)) for drill in drills))
    return ExitCode.DONE if all(drill.success for drill in drills) else ExitCode.FAILURE


def _check_pair(kind: DrillKind, generation: str | None, older: int) -> None:
    if kind is DrillKind.OBJECTS or generation is not None or older:
        raise UsageError(
            "--with-objects drills the newest snapshot (or --snapshot) and the backup before it"
        )


def _check_choice(
    kind: DrillKind, generation: str | None, snapshot: str | None, upto: str | None, older: int
) -> None:
    of_database = generation is not None or upto is not None or older > 0
    if of_database if kind is DrillKind.OBJECTS else snapshot is not None:
        raise UsageError(
            "--generation, --upto and --older are for --kind database, --snapshot for objects"
        )
    if older and generation is not None:
        raise UsageError("--older drills the newest and others in turn; --generation just one")
    if upto is not None and generation is None:
        raise UsageError("--upto belongs to --generation")


@app.command("history")
async def history(
    call: Invocation,
    kind: Annotated[DrillKind | None, typer.Option("--kind", help="Only drills of …")] = None,
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="At most so many.")] = 50,
) -> None:
    """List the drills, newest first."""
    async with open_control(call.loaded) as control:
        drills = await control.drills.history(kind, limit)
    columns = ("when (UTC)", "kind", "source", "outcome", "recovery time", "age of data", "detail")
    rows = [
        (
            moment(drill.timestamp),
            drill.kind.value,
            drill.source,
            "passed" if drill.success else "failed",
            seconds(drill.recovery_time),
            seconds(drill.recovery_point_age),
            drill.detail.split("\n", 1)[0],
        )
        for drill in drills
    ]
    table = Table(columns, rows, empty="No drill yet: no backup is proven.")
    call.output.show([drill.as_dict() for drill in drills], table)


def _known(drill: Drill) -> str | None:
    if "expected" not in drill.canaries:
        return None
    return f"{drill.canaries['returned']} of {drill.canaries['expected']} returned"


def _facts(drill: Drill) -> list[tuple[str, object]]:
    phases = ", ".join(f"{name} {seconds(value)}" for name, value in drill.phases.items())
    return [
        ("drill", "passed" if drill.success else "FAILED"),
        ("of", drill.source or None),
        ("detail", drill.detail),
        ("recovery time", seconds(drill.recovery_time)),
        ("age of the newest data", seconds(drill.recovery_point_age)),
        ("known answers", _known(drill)),
        ("phases", phases or None),
    ]
