"""The parts that a control server works with."""

from dataclasses import dataclass, field

from leitstand.jobs.event_drain import TellEvent, tell_nobody_of_events
from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.queue import Queue
from leitstand.jobs.run_reporter import ReportWriter
from leitstand.jobs.runner import Runner
from leitstand.jobs.servers import Servers
from leitstand.jobs.spool import Spool
from leitstand.jobs.window_source import HostDowntimes, NoDowntimes
from leitstand.store.database import Database


@dataclass(frozen=True)
class Domain:
    """Put together by the composition root; all parts work on the same database."""

    database: Database
    jobs: JobLedger
    queue: Queue
    servers: Servers
    runner: Runner
    reports: ReportWriter
    spool: Spool
    downtimes: HostDowntimes = field(default_factory=NoDowntimes)
    tell_event: TellEvent = tell_nobody_of_events
