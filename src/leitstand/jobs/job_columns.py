"""What a job's row becomes when the job is saved: its planned time follows from what it was."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from leitstand.errors import LeitstandError
from leitstand.jobs.job import JobSpec, trigger_of
from leitstand.jobs.misfire import LONGEST_COUNT, next_on_edit
from leitstand.jobs.schedule import build_schedule
from leitstand.store.jsonb import to_jsonb


def columns_of(spec: JobSpec, before: Mapping[str, Any] | None, now: datetime) -> dict[str, Any]:
    """The job's row but for ``managed``; ``before`` is the one that it replaces, if there is one.

    The planned time stays as long as trigger and state do. An occurrence that waits for a window is
    due to be looked at once other windows may count for the job.
    """
    trigger = spec.trigger
    unchanged = before is not None and trigger == trigger_of(before)
    anchor = before["anchor"] if before is not None and unchanged else now
    schedule = build_schedule(trigger, anchor)
    next_run_at = postponed_from = None
    if spec.enabled and before is not None and unchanged and _is_planned(before):
        next_run_at, postponed_from = before["next_run_at"], before["postponed_from"]
        if postponed_from is not None and not _same_windows(spec, before):
            next_run_at = now
    elif spec.enabled:
        next_run_at = next_on_edit(schedule, now)
    return {
        "name": spec.name,
        "tenant": spec.tenant,
        "kind": spec.kind,
        "params": to_jsonb(spec.params),
        "trigger_type": trigger.type,
        "expression": trigger.expression,
        "timezone": trigger.timezone,
        "event": trigger.event,
        "deliver": spec.deliver,
        "anchor": anchor,
        "enabled": spec.enabled,
        "tags": list(spec.tags),
        "host": spec.host,
        "runs_on": list(spec.runs_on),
        "priority": spec.priority,
        "group_name": spec.group,
        "timeout": spec.timeout,
        "depends_on": list(spec.depends_on),
        "max_attempts": spec.retry.max_attempts,
        "backoff": spec.retry.backoff,
        "misfire": spec.misfire,
        "misfire_limit": spec.misfire_limit,
        "overlap": spec.overlap,
        "window_policy": spec.window_policy,
        "splay": spec.splay,
        "resume": spec.resume,
        "next_run_at": next_run_at,
        "postponed_from": postponed_from,
    }


def further_due(job: Mapping[str, Any], first: datetime, now: datetime) -> int:
    """How many slots of a stored job have come after ``first``, the one that is due.

    0 for a schedule that cannot be computed any more: it must be possible to edit its job.
    """
    try:
        schedule = build_schedule(trigger_of(job), job["anchor"])
    except LeitstandError:
        return 0
    return schedule.count(first, min(now, first + LONGEST_COUNT))


def _is_planned(before: Mapping[str, Any]) -> bool:
    return bool(before["enabled"]) and before["schedule_error"] is None


def _same_windows(spec: JobSpec, before: Mapping[str, Any]) -> bool:
    """Whether the windows that count for the job are those that did."""
    return (spec.window_policy, list(spec.tags), spec.host) == (
        before["window_policy"],
        before["tags"],
        before["host"],
    )
