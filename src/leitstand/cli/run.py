"""`leitstand run`: runs, their logs and their ends."""

import asyncio
from typing import Annotated

import typer

from leitstand.app.control import Control, open_control
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment, seconds
from leitstand.jobs import Run, RunStatus, why_nothing_starts, why_waiting
from leitstand.nearest import chosen

app = Commands("run", "Runs: list, show, follow, cancel and retry them.")

Id = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="The run's number.")]

LOOK_AGAIN = 0.3
"""Seconds between two looks at a run that is being waited for."""


@app.command("list")
async def list_runs(
    call: Invocation,
    job: Annotated[str | None, typer.Option("--job", help="Only runs of this job.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only runs that are …")] = None,
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="At most so many.")] = 50,
) -> None:
    """List runs, newest first."""
    wanted = None if status is None else chosen("status", status, RunStatus)
    async with open_control(call.loaded) as control:
        if job is not None:
            await control.jobs.get(job)
        runs = await control.queue.list_runs(job, wanted, limit=limit)
    columns = ("run", "job", "status", "attempt", "planned (UTC)", "duration", "what happened")
    rows = [
        (
            r.id,
            r.job,
            r.status.value,
            r.attempt,
            moment(r.scheduled_at),
            seconds(r.duration),
            _say(r),
        )
        for r in runs
    ]
    call.output.show([r.as_dict() for r in runs], Table(columns, rows, empty="No runs."))


@app.command("show")
async def show_run(call: Invocation, run_id: Id) -> None:
    """Show everything about a run."""
    async with open_control(call.loaded) as control:
        run = await control.queue.get(run_id)
        late = await control.queue.late_results(run_id)
        waits = run.runs_on and run.status is RunStatus.QUEUED
        agents = await control.agents.list_all() if waits else []
    document = {**run.as_dict(), "late_results": late}
    call.output.show(document, run_details(run), *([why_waiting(run, agents)] if waits else []))


@app.command("logs")
async def logs(
    call: Invocation,
    run_id: Id,
    follow: Annotated[bool, typer.Option("-f", help="Go on until the run has ended.")] = False,
) -> None:
    """Print a run's log."""
    entries = []
    async with open_control(call.loaded) as control:
        run = await control.queue.get(run_id)
        after = 0
        while True:
            run = await control.queue.get(run_id)
            piece = await control.queue.logs(run_id, after)
            after = piece[-1].id if piece else after
            entries.extend(piece)
            if not call.output.json:
                call.output.lines(entry.text for entry in piece)
            if not piece and (not follow or run.status.is_final):
                break
            if not piece:
                await asyncio.sleep(LOOK_AGAIN)
    if call.output.json:
        call.output.show([{"time": entry.logged_at, "text": entry.text} for entry in entries])


@app.command("cancel")
async def cancel(call: Invocation, run_id: Id) -> None:
    """Cancel a run; one that is running is asked to stop."""
    async with open_control(call.loaded) as control:
        run = await control.queue.cancel(run_id, call.user)
    said = "is cancelled" if run.status is RunStatus.CANCELLED else "is asked to stop"
    call.output.show(run.as_dict(), f"Run {run.id} {said}.")


@app.command("retry")
async def retry(call: Invocation, run_id: Id) -> None:
    """Queue another attempt of a run that has ended."""
    async with open_control(call.loaded) as control:
        run = await control.queue.retry(run_id, call.user)
    call.output.show(run.as_dict(), f"Run {run.id}, attempt {run.attempt} of {run.job}, is queued.")


async def await_end(call: Invocation, control: Control, run: Run) -> Run:
    """The run once it has ended, with its progress shown meanwhile."""
    await note_if_nobody_is_there(call, control, run)
    with call.output.progress(f"run {run.id}") as report:
        while not (run := await control.queue.get(run.id)).status.is_final:
            report(run.progress_percent, run.progress_message or run.status.value)
            await asyncio.sleep(LOOK_AGAIN)
    return run


async def note_if_nobody_is_there(call: Invocation, control: Control, run: Run) -> None:
    """Say that a run will have to wait when nobody is there to start it."""
    if run.runs_on and not any(
        agent.offers(run.kind, run.runs_on) for agent in await control.agents.list_all()
    ):
        call.output.note(why_waiting(run, await control.agents.list_all()))
    why = why_nothing_starts(await control.servers.list_all())
    if why is not None:
        call.output.note(f"{why} The run waits.")


def run_code(run: Run) -> ExitCode:
    """The exit code for a run that was waited for."""
    if run.status is RunStatus.SUCCEEDED:
        return ExitCode.DONE
    return ExitCode.PARTIAL if run.status is RunStatus.PARTIAL_FAILURE else ExitCode.FAILURE


def run_details(run: Run) -> str:
    """A run's facts for people, those that it has."""
    pairs = ((key, value) for key, value in run.as_dict().items() if key != "result")
    shown = [(key, value) for key, value in pairs if value not in (None, [], {}, 0)]
    known = {key for key, _ in shown}
    result = [pair for pair in (run.result or {}).items() if pair[0] not in known]
    return details([*shown, *result])


def _say(run: Run) -> str:
    if run.error_code is not None:
        return f"{run.error_code}: {run.error_message}"
    return run.progress_message or "" if run.status is RunStatus.RUNNING else ""
