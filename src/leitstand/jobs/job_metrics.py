"""What the jobs domain tells Prometheus of what all servers share: queue, jobs, servers."""

from collections.abc import Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.queue import Queue
from leitstand.jobs.servers import Servers


class JobMetrics:
    """A source of metrics that is the same on every server."""

    name = "jobs"

    def __init__(self, jobs: JobLedger, queue: Queue, servers: Servers) -> None:
        self._jobs = jobs
        self._queue = queue
        self._servers = servers

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        return [*await self._active(), *await self._of_jobs(), *await self._skew()]

    async def _active(self) -> list[Metric]:
        family = GaugeMetricFamily(
            "leitstand_core_runs_active", "Runs now, over all servers", labels=["status"]
        )
        for status, count in (await self._queue.active_counts()).items():
            family.add_metric([status], count)
        return [family]

    async def _of_jobs(self) -> list[Metric]:
        succeeded = GaugeMetricFamily(
            "leitstand_core_job_last_outcome",
            "The last run of the job: 1 succeeded, 0 anything else, -1 never ended one",
            labels=["job", "kind"],
        )
        skipped = CounterMetricFamily(
            "leitstand_core_job_skipped_runs", "Occurrences that were missed", labels=["job"]
        )
        broken = GaugeMetricFamily(
            "leitstand_core_job_schedule_error",
            "1 when the schedule cannot be computed",
            labels=["job"],
        )
        for job in await self._jobs.list_all():
            outcome = -1 if job.last_outcome is None else int(job.last_outcome == "succeeded")
            succeeded.add_metric([job.name, job.kind], outcome)
            skipped.add_metric([job.name], job.skipped_runs)
            broken.add_metric([job.name], int(job.schedule_error is not None))
        return [succeeded, skipped, broken]

    async def _skew(self) -> list[Metric]:
        family = GaugeMetricFamily(
            "leitstand_core_server_clock_skew_seconds",
            "A control server's clock minus the database's",
            labels=["instance"],
        )
        for server in await self._servers.list_all():
            family.add_metric([server.instance], server.clock_skew)
        return [family]
