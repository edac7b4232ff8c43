"""Answers why a job did not run, or does not run now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from leitstand.display import counted
from leitstand.jobs.agents.agent import AgentInfo
from leitstand.jobs.agents.ledger import Agents
from leitstand.jobs.agents.waiting import why_waiting
from leitstand.jobs.group import Group
from leitstand.jobs.job import Job
from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.non_run import NonRun
from leitstand.jobs.queue import Queue
from leitstand.jobs.run import Run
from leitstand.jobs.run_status import RunStatus
from leitstand.jobs.server_state import why_nothing_starts
from leitstand.jobs.servers import Servers
from leitstand.jobs.trigger import TriggerType
from leitstand.jobs.window import Window
from leitstand.jobs.window_rule import next_allowed, open_windows, waits_in_vain
from leitstand.jobs.window_source import WindowSource


@dataclass(frozen=True)
class Explanation:
    """The answer to "why did it not run?": sentences first, then the rows they rest on."""

    job: Job
    at: datetime | None
    sentences: tuple[str, ...]
    non_runs: tuple[NonRun, ...]
    runs: tuple[Run, ...]

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape of ``job why``."""
        return {
            "job": self.job.name,
            "at": self.at,
            "answer": list(self.sentences),
            "non_runs": [non_run.as_dict() for non_run in self.non_runs],
            "runs": [run.as_dict() for run in self.runs],
        }


@dataclass(frozen=True)
class Records:
    """What an answer is drawn from.

    With ``windows``, also what they make of an occurrence; with ``servers``, also whether one of
    them would start a run now; with ``agents``, also which of them a run waits for.
    """

    jobs: JobLedger
    queue: Queue
    windows: WindowSource | None = None
    servers: Servers | None = None
    agents: Agents | None = None


async def explain(records: Records, name: str, at: datetime | None = None) -> Explanation:
    """What became of the job's occurrences: all recent ones, or those that cover ``at``."""
    job = await records.jobs.get(name)
    non_runs = await records.jobs.non_runs(job, at)
    if at is None:
        runs = await records.queue.list_runs(job=name, limit=20)
    else:
        runs = await records.queue.runs_at(name, at)
    windows, servers = records.windows, records.servers
    in_force = await windows.windows_for([job]) if windows is not None else []
    # Who is there now says nothing about another time.
    present = at is None
    seen = await servers.list_all() if servers is not None and present else None
    asked = records.agents if job.runs_on and present else None
    waiting = WaitingFor(
        None if seen is None else why_nothing_starts(seen),
        () if asked is None else await asked.list_all(),
        None if job.group is None else await _group(records.jobs, job.group),
    )
    sentences = (
        *state_of(job, runs, waiting),
        *(about_ended(run) for run in runs if at is not None and run.status.is_final),
        *about_windows(job, at or datetime.now(UTC), in_force),
        *(describe(non_run) for non_run in non_runs),
    )
    return Explanation(job, at, sentences, tuple(non_runs), tuple(runs))


@dataclass(frozen=True)
class WaitingFor:
    """Who could carry out runs: ``nothing_starts`` says why no control server takes any.

    ``group`` is the job's, with what runs in it now.
    """

    nothing_starts: str | None = None
    agents: Sequence[AgentInfo] = ()
    group: Group | None = None


def state_of(job: Job, runs: Sequence[Run], waiting: WaitingFor) -> list[str]:
    """Sentences about what the job is waiting for at this moment."""
    sentences = [] if waiting.nothing_starts is None else [waiting.nothing_starts]
    if not job.enabled:
        sentences.append("The job is disabled; nothing is planned.")
    if job.schedule_error is not None:
        sentences.append(f"Its schedule cannot be computed: {job.schedule_error}.")
    if job.enabled and job.postponed_from is not None:
        sentences.append(
            f"The occurrence of {job.postponed_from:%Y-%m-%d %H:%M:%S} UTC waits for a window."
        )
    if job.enabled and job.next_run_at is not None:
        sentences.append(f"The next run is planned for {job.next_run_at:%Y-%m-%d %H:%M:%S} UTC.")
    if job.enabled and job.trigger.type is TriggerType.MANUAL:
        sentences.append("The job has no schedule; it runs on request only.")
    if job.enabled and job.trigger.event is not None:
        sentences.append(_about_event(job))
    busy = next((r.id for r in runs if job.exclusive and r.status is RunStatus.RUNNING), None)
    sentences.extend(filter(None, (_about_active(run, busy, waiting) for run in runs)))
    return sentences


async def _group(jobs: JobLedger, name: str) -> Group | None:
    return next((group for group in await jobs.list_groups() if group.name == name), None)


def _about_event(job: Job) -> str:
    waits = f"It runs when an event {job.trigger.event} comes in"
    if job.unknown_event:
        return f"{waits}, but nothing here produces one; see `leitstand event catalog`."
    return f"{waits}."


def about_windows(job: Job, at: datetime, windows: Sequence[Window]) -> list[str]:
    """Sentences about the windows that are open at ``at``, and what they mean for the job."""
    when = f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    sentences = []
    for window in open_windows(at, job, windows):
        why = f" ({window.reason})" if window.reason else ""
        sentences.append(f"Window {window.name}{why} is open at {when}.")
    allowed = next_allowed(at, job, windows)
    if waits_in_vain(job, allowed):
        sentences.append(f"What is due at {when} waits: {allowed.reason}.")
    elif not allowed.found:
        sentences.append(f"What is due at {when} runs all the same: {allowed.reason}.")
    elif allowed.moved:
        sentences.append(f"What is due at {when} is postponed {allowed.reason}.")
    return sentences


def about_ended(run: Run) -> str:
    """A sentence about a run that has ended: who asks why there was none should know of it."""
    planned = f"{run.scheduled_at:%Y-%m-%d %H:%M:%S} UTC"
    ended = f"Run {run.id}, planned for {planned}, ended as {run.status.value}"
    return f"{ended}: {run.error_message}." if run.error_message else f"{ended}."


def _about_active(run: Run, busy: int | None, waiting: WaitingFor) -> str | None:
    """What the run does or waits for; ``busy`` is the run whose end it has to wait for."""
    if run.status is RunStatus.RUNNING:
        return f"Run {run.id} is running on {run.owner}."
    return _about_waiting(run, busy, waiting) if run.status is RunStatus.QUEUED else None


def _about_waiting(run: Run, busy: int | None, waiting: WaitingFor) -> str:
    if run.not_before > datetime.now(UTC):
        attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
        return f"Run {run.id}{attempt} waits for its time, {run.not_before:%Y-%m-%d %H:%M:%S} UTC."
    if busy is not None:
        return f"Run {run.id} waits for the end of run {busy}."
    if waiting.group is not None and waiting.group.is_full:
        return f"Run {run.id} waits for a place in its group {waiting.group}."
    if run.runs_on:
        return why_waiting(run, waiting.agents)
    if waiting.nothing_starts is not None:
        return f"Run {run.id} waits for a control server."
    return f"Run {run.id} waits for a free slot, its group, or the end of the run before it."


def describe(non_run: NonRun) -> str:
    """One non-run as a sentence."""
    when = f"{non_run.scheduled_at:%Y-%m-%d %H:%M:%S} UTC"
    if non_run.until is not None:
        when += f" to {non_run.until:%Y-%m-%d %H:%M:%S} UTC"
    times = "" if non_run.count == 1 else f" ({counted(non_run.count, 'occurrence')})"
    return f"{when}{times}: {non_run.reason.value}, {non_run.detail}."
