"""`leitstand job`: jobs, and why they ran or did not."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from leitstand.app.control import Control, open_control
from leitstand.app.job_changes import delete_job
from leitstand.app.source_look import source_problems
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.run import await_end, note_if_nobody_is_there, run_code, run_details
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.errors import UsageError
from leitstand.events.detection import DetectLogEvents
from leitstand.jobs import Job, Occurrence, Records, explain, next_allowed, preview

app = Commands("job", "Jobs: list, show, run, explain, enable and disable them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The job's name.")]


@app.command("list")
async def list_jobs(call: Invocation) -> None:
    """List all jobs."""
    async with open_control(call.loaded) as control:
        jobs = await control.jobs.list_all()
    columns = ("job", "kind", "trigger", "next run (UTC)", "last run (UTC)", "last outcome")
    rows = [
        (job.name, job.kind, _trigger(job), _next(job), moment(job.last_run_at), job.last_outcome)
        for job in jobs
    ]
    call.output.show([job.as_dict() for job in jobs], Table(columns, rows, empty="No jobs."))


@app.command("show")
async def show_job(call: Invocation, name: Name) -> None:
    """Show everything about a job."""
    async with open_control(call.loaded) as control:
        job = await control.jobs.get(name)
    _show(call, job)


@app.command("run")
async def run_job(
    call: Invocation,
    name: Name,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
) -> ExitCode | None:
    """Queue a run of the job now."""
    async with open_control(call.loaded) as control:
        run = await control.queue.request(name, user=call.user)
        await _note_windows(call, control, name)
        if not wait:
            await note_if_nobody_is_there(call, control, run)
            call.output.show(run.as_dict(), f"Run {run.id} of {run.job} is queued.")
            return None
        ended = await await_end(call, control, run)
    call.output.show(ended.as_dict(), run_details(ended))
    return run_code(ended)


@app.command("next")
async def next_runs(
    call: Invocation,
    name: Name,
    count: Annotated[int, typer.Option("-n", min=1, max=1000, help="How many times.")] = 10,
) -> None:
    """Show when the job will run next."""
    async with open_control(call.loaded) as control:
        job = await control.jobs.get(name)
        windows = await control.window_source.windows_for([job])
    occurrences = preview(job, datetime.now(UTC), count, windows)
    rows = [(moment(o.planned_at), moment(o.start_at), _moved(o)) for o in occurrences]
    columns = ("planned (UTC)", "starts (UTC)", "moved")
    table = Table(columns, rows, empty="No time is planned.")
    call.output.show([occurrence.as_dict() for occurrence in occurrences], table)


@app.command("why")
async def why(
    call: Invocation,
    name: Name,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="A time, RFC 3339; UTC by default.")
    ] = None,
) -> None:
    """Say why the job did not run, or does not run now."""
    moment_asked = None if at is None else _time(at)
    async with open_control(call.loaded) as control:
        records = Records(
            control.jobs, control.queue, control.window_source, control.servers, control.agents
        )
        explanation = await explain(records, name, moment_asked)
    sentences = explanation.sentences or ("Nothing is recorded for that time.",)
    call.output.show(explanation.as_dict(), *sentences)


@app.command("enable")
async def enable(call: Invocation, name: Name) -> None:
    """Let the job run by its schedule again; what it missed is not caught up."""
    async with open_control(call.loaded) as control:
        job = await control.jobs.set_enabled(name, True)
    if job.kind == DetectLogEvents.kind:
        for problem in await source_problems(call.loaded.settings):
            call.output.note(f"It cannot be read now: {problem}")
    planned = "" if job.next_run_at is None else f" Its next run: {_next(job)} UTC."
    call.output.show(job.as_dict(), f"Job {name} is enabled.{planned}")


@app.command("disable")
async def disable(call: Invocation, name: Name) -> None:
    """Stop the job's schedule; runs that are active go on."""
    async with open_control(call.loaded) as control:
        job = await control.jobs.set_enabled(name, False)
    call.output.show(job.as_dict(), f"Job {name} is disabled.")


@app.command("delete")
async def delete(call: Invocation, name: Name) -> None:
    """Delete the job; the history of its runs stays."""
    async with open_control(call.loaded) as control:
        await delete_job(control, name)
    call.output.show({"deleted": name}, f"Job {name} is deleted.")


def _show(call: Invocation, job: Job) -> None:
    shown = [(key, value) for key, value in job.as_dict().items() if value not in (None, [], {})]
    call.output.show(job.as_dict(), details(shown))


async def _note_windows(call: Invocation, control: Control, name: str) -> None:
    """Windows do not postpone what somebody asks for; that they are open should be no surprise."""
    job = await control.jobs.get(name)
    windows = await control.window_source.windows_for([job])
    allowed = next_allowed(datetime.now(UTC), job, windows)
    if allowed.reason:
        call.output.note(
            f"By schedule it would not start now ({allowed.reason}); "
            "a run on request is not postponed."
        )


def _moved(occurrence: Occurrence) -> str:
    merged = occurrence.merged
    more = f"; {merged} more {'is' if merged == 1 else 'are'} part of it" if merged else ""
    return (occurrence.moved or "") + more


def _trigger(job: Job) -> str:
    trigger = job.trigger
    text = trigger.expression or trigger.event or trigger.type.value
    if job.unknown_event:
        return f"{text} (unknown event)"
    return text if trigger.timezone == "UTC" else f"{text} {trigger.timezone}"


def _next(job: Job) -> str:
    if job.schedule_error is not None:
        return "cannot be computed"
    return moment(job.next_run_at) if job.enabled else "disabled"


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a time", remedy="Write it like 2026-12-31T23:59:00Z."
        ) from None
    return time
