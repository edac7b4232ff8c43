"""Saves and deletes single jobs, unless Leitstand needs them for itself."""

from leitstand.app.control import Control
from leitstand.errors import ConflictError
from leitstand.jobs import Job, JobSpec
from leitstand.protection import OWN_JOBS, refuse_deletion


async def save_job(control: Control, spec: JobSpec) -> Job:
    """Create or replace the job.

    Raises ConflictError for a self-protection job, unless ``protection.enabled`` is false, and
    what ``JobLedger.save`` raises.
    """
    if control.settings.protection.enabled and spec.name in OWN_JOBS:
        raise ConflictError(
            f"{spec.name} is Leitstand's own job",
            remedy="The settings of [protection] say when it runs.",
        )
    return await control.jobs.save(spec)


async def delete_job(control: Control, name: str) -> None:
    """Delete the job; its runs stay in the history.

    Raises ConflictError for a self-protection job, unless ``protection.enabled`` is false, and
    for a job with an active run; NotFoundError.
    """
    if control.settings.protection.enabled:
        refuse_deletion(name)
    await control.jobs.delete(name)
