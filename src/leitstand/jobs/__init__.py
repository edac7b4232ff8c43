"""Jobs: schedules, runs, and the loop that carries them out exactly once."""

from leitstand.jobs.domain import Domain
from leitstand.jobs.explain import Explanation, explain
from leitstand.jobs.job import Job, JobSpec, Overlap, Retry, WindowPolicy
from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.job_metrics import JobMetrics
from leitstand.jobs.loop import ControlServer
from leitstand.jobs.loop_settings import LoopSettings
from leitstand.jobs.preview import Occurrence, preview
from leitstand.jobs.prune_history import PruneHistory
from leitstand.jobs.queue import CHANNEL, LogEntry, Queue
from leitstand.jobs.run import Run
from leitstand.jobs.run_reporter import ReportWriter
from leitstand.jobs.run_status import FINAL, RunStatus
from leitstand.jobs.runner import Runner
from leitstand.jobs.servers import ServerInfo, Servers
from leitstand.jobs.spool import Spool

__all__ = [
    "CHANNEL",
    "FINAL",
    "ControlServer",
    "Domain",
    "Explanation",
    "Job",
    "JobLedger",
    "JobMetrics",
    "JobSpec",
    "LogEntry",
    "LoopSettings",
    "Occurrence",
    "Overlap",
    "PruneHistory",
    "Queue",
    "ReportWriter",
    "Retry",
    "Run",
    "RunStatus",
    "Runner",
    "ServerInfo",
    "Servers",
    "Spool",
    "WindowPolicy",
    "explain",
    "preview",
]
