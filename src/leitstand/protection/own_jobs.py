"""Creates Leitstand's own jobs where they are missing, and keeps the others up to date."""

from collections.abc import Sequence

import structlog

from leitstand.jobs import JobLedger, JobSpec

log = structlog.get_logger(__name__)


async def create_own_jobs(jobs: JobLedger, specs: Sequence[JobSpec]) -> None:
    """Create the jobs that are missing and bring the others up to date.

    One that is disabled stays disabled: that, and not deleting it, is how to do without it.
    """
    existing = {job.name: job for job in await jobs.list_all()}
    for spec in specs:
        job = existing.get(spec.name)
        enabled = job is None or job.enabled
        await jobs.save(spec.model_copy(update={"enabled": enabled}), managed=True)
    created = [spec.name for spec in specs if spec.name not in existing]
    if created:
        log.info("Leitstand's own jobs created", jobs=created)
