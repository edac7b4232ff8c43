"""Deletes a job, unless Leitstand needs it for itself."""

from leitstand.app.control import Control
from leitstand.protection import refuse_deletion


async def delete_job(control: Control, name: str) -> None:
    """Delete the job; its runs stay in the history.

    Raises ConflictError for a self-protection job, unless ``protection.enabled`` is false, and
    for a job with an active run; NotFoundError.
    """
    if control.settings.protection.enabled:
        refuse_deletion(name)
    await control.jobs.delete(name)
