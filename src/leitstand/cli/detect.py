"""`leitstand detect`: log tables of applications, and how far they have been read."""

from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.events.detection import DetectionLedger, SourceReport

app = Commands("detect", "Detectors of log tables: run them now, see how far they are.")


@app.command("run")
async def run(
    call: Invocation,
    again: Annotated[
        bool, typer.Option("--again", help="Also what was read within the last 5 minutes.")
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
    """Show how far each log table has been read."""
    async with open_control(call.loaded) as control:
        sources = await DetectionLedger(control.database).status()
    columns = ("source", "state", "last read (UTC)", "highest", "event", "checkpoint", "open gaps")
    rows = [row for source in sources for row in _rows(source)]
    call.output.show(sources, Table(columns, rows, empty="No log table was read yet."))


@app.command("reset")
async def reset(
    call: Invocation,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The detector's name.")],
) -> None:
    """Forget how far a log table was read; what is there at the next run starts nothing."""
    async with open_control(call.loaded) as control:
        epoch = await DetectionLedger(control.database).reset(source, call.user)
    call.output.show({"source": source, "epoch": epoch}, f"Source {source} begins anew.")


_NONE = "No log table is watched; see [[detector]] in docs/configuration.md."


def _row(report: SourceReport) -> tuple[object, ...]:
    did = report.did if report.problem is None else f"{report.did}: {report.problem}"
    return report.source, did, sum(report.emitted.values()), report.late, report.dead


def _rows(source: dict[str, Any]) -> list[tuple[object, ...]]:
    state = (
        source["state"] if source["problem"] is None else f"{source['state']}: {source['problem']}"
    )
    head = (source["name"], state, moment(source["last_read_at"]), source["highest"])
    detectors = source["detectors"] or [{"event": None, "checkpoint": None, "open_gaps": None}]
    return [(*head, d["event"], d["checkpoint"], d["open_gaps"]) for d in detectors]
