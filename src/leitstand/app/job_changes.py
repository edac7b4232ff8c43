"""Saves and deletes single jobs, unless Leitstand needs them for itself."""

from leitstand.app.alert_wiring import watch_jobs
from leitstand.app.control import Control
from leitstand.errors import ConflictError
from leitstand.jobs import Job, JobSpec
from leitstand.protection import OWN_JOBS, WATCH_JOBS, refuse_deletion, refuse_watch_deletion


async def save_job(control: Control, spec: JobSpec) -> Job:
    """Create or replace the job.

    Raises ConflictError for a job that the settings have Leitstand make for itself, and what
    ``JobLedger.save`` raises.
    """
    if control.settings.protection.enabled and spec.name in OWN_JOBS:
        raise _own(spec.name, "protection")
    if spec.name in WATCH_JOBS:
        raise _own(spec.name, "alerts")
    return await control.jobs.save(spec)


async def delete_job(control: Control, name: str) -> None:
    """Delete the job; its runs stay in the history.

    Raises ConflictError for a job that the settings have Leitstand make for itself, and for a job
    with an active run; NotFoundError.
    """
    if control.settings.protection.enabled:
        refuse_deletion(name)
    refuse_watch_deletion(name, watch_jobs(control.settings))
    await control.jobs.delete(name)


def _own(name: str, section: str) -> ConflictError:
    return ConflictError(
        f"{name} is Leitstand's own job",
        remedy=f"The settings of [{section}] say when it runs.",
    )
