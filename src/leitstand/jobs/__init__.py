"""Jobs: schedules, runs, and the loop that carries them out exactly once."""

from leitstand.jobs.child_handle import Children
from leitstand.jobs.command import CommandExecutor
from leitstand.jobs.domain import Domain
from leitstand.jobs.executor import Executor, Isolation, Params, Reporter, Result, RunFacts
from leitstand.jobs.explain import Explanation, explain
from leitstand.jobs.job import Job, JobSpec, Overlap, Retry, WindowPolicy
from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.job_metrics import JobMetrics
from leitstand.jobs.kinds import Kinds, third_party_executors
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
from leitstand.jobs.worker_run import run_in_worker

__all__ = [
    "CHANNEL",
    "FINAL",
    "Children",
    "CommandExecutor",
    "ControlServer",
    "Domain",
    "Executor",
    "Explanation",
    "Isolation",
    "Job",
    "JobLedger",
    "JobMetrics",
    "JobSpec",
    "Kinds",
    "LogEntry",
    "LoopSettings",
    "Occurrence",
    "Overlap",
    "Params",
    "PruneHistory",
    "Queue",
    "ReportWriter",
    "Reporter",
    "Result",
    "Retry",
    "Run",
    "RunFacts",
    "RunStatus",
    "Runner",
    "ServerInfo",
    "Servers",
    "Spool",
    "WindowPolicy",
    "explain",
    "preview",
    "run_in_worker",
    "third_party_executors",
]
