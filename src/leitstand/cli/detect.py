"""`leitstand detect`: log tables of applications, and how far they have been read."""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.app.source_look import states_now
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.events.detection import DetectionLedger, SourceReport, SourceStatus

app = Commands("detect", "Detectors of log tables: run them now, see how far they are.")


@app.command("run")
async def run(
    call: Invocation,
    again: Annotated[
        bool,
        typer.Option("--again", "--force", help="Also what was read within the last 5 minutes."),
    ] = False,
) -> ExitCode:
    """Read the log tables now; jobs that listen to what happened run."""
    async with open_control(call.loaded) as control:
        reports = await control.detection.run_once(again=again)
    rows = [_row(report) for report in reports]
    table = Table(("source", "what was done", "events", "late", "dead ids"), rows, empty=_NONE)
    call.output.show([report.as_dict() for report in reports], table)
    failed = any(report.problem is not None for report in reports)
    return ExitCode.PARTIAL if failed else ExitCode.DONE


@app.command("status")
async def status(call: Invocation) -> None:
    """Show how far each log table has been read, and whether it can be read now."""
    async with open_control(call.loaded) as control:
        known = await DetectionLedger(control.database).status()
        sources = await states_now(control.settings, known)
    columns = ("source", "state", "last read (UTC)", "highest", "event", "checkpoint", "open gaps")
    rows = [row for source in sources for row in _rows(source)]
    documents = [source.as_dict() for source in sources]
    call.output.show(documents, Table(columns, rows, empty=_NONE))


@app.command("reset")
async def reset(
    call: Invocation,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The detector's name.")],
) -> None:
    """Forget how far a log table was read; what is there at the next run starts nothing."""
    async with open_control(call.loaded) as control:
        epoch = await DetectionLedger(control.database).reset(source, call.user)
    call.output.show({"source": source, "epoch": epoch}, f"Source {source} begins anew.")


@app.command("resets")
async def resets(
    call: Invocation,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The detector's name.")],
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="At most so many.")] = 50,
) -> None:
    """Show when a log table was begun anew, why, and who asked for it; newest first."""
    async with open_control(call.loaded) as control:
        found = await DetectionLedger(control.database).resets(source, limit)
    rows = [(each.epoch, moment(each.reset_at), each.reset_by, each.reason) for each in found]
    table = Table(("epoch", "when (UTC)", "by", "why"), rows, empty="It was never begun anew.")
    call.output.show([each.as_dict() for each in found], table)


_NONE = "No log table is watched; see [[detector]] in docs/configuration.md."


def _row(report: SourceReport) -> tuple[object, ...]:
    did = report.did if report.problem is None else f"{report.did}: {report.problem.sentence}"
    return report.source, did, sum(report.emitted.values()), report.late, report.dead


def _rows(source: SourceStatus) -> list[tuple[object, ...]]:
    state = source.state if source.problem is None else f"{source.state}: {source.problem}"
    head = (source.name, state, moment(source.last_read_at), source.highest)
    if not source.detectors:
        return [(*head, None, None, None)]
    return [(*head, each.event, each.checkpoint, each.open_gaps) for each in source.detectors]
