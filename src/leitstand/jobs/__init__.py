"""Jobs: schedules, runs, and the loop that carries them out exactly once."""

from leitstand.jobs.agents import (
    AgentDesk,
    AgentInfo,
    AgentMetrics,
    Agents,
    TaskBoard,
    why_waiting,
)
from leitstand.jobs.applier import Applier
from leitstand.jobs.apply_plan import Action, Change, Claims, FieldChange, Plan
from leitstand.jobs.domain import Domain
from leitstand.jobs.explain import Explanation, Records, explain
from leitstand.jobs.export import to_toml
from leitstand.jobs.group import Group, GroupSpec
from leitstand.jobs.job import Deliver, Duration, Job, JobSpec, Overlap, Retry, WindowPolicy
from leitstand.jobs.job_file import JobFileError, Thing, Written, read_entries
from leitstand.jobs.job_ledger import JobLedger, look_again_at_postponed
from leitstand.jobs.job_metrics import JobMetrics
from leitstand.jobs.listening import Listening, listening_jobs
from leitstand.jobs.loop import ControlServer
from leitstand.jobs.loop_metrics import LoopMetrics
from leitstand.jobs.loop_settings import LoopSettings
from leitstand.jobs.misfire import Misfire
from leitstand.jobs.outcome_watcher import EndedRun, OutcomeWatcher
from leitstand.jobs.preview import Occurrence, preview
from leitstand.jobs.prune_history import PruneHistory
from leitstand.jobs.queue import CHANNEL, LogEntry, Queue
from leitstand.jobs.run import Run
from leitstand.jobs.run_change import RunChange
from leitstand.jobs.run_reporter import ReportWriter
from leitstand.jobs.run_status import FINAL, RunStatus
from leitstand.jobs.runner import Runner
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.server_state import ServerState, why_nothing_starts
from leitstand.jobs.servers import ServerInfo, Servers
from leitstand.jobs.spool import Spool
from leitstand.jobs.trigger import Trigger, TriggerType
from leitstand.jobs.window import DatedWindow, Weekday, WeeklyWindow, Window
from leitstand.jobs.window_ledger import WindowLedger
from leitstand.jobs.window_rule import Allowed, next_allowed
from leitstand.jobs.window_source import HostDowntimes, NoDowntimes, WindowSource
from leitstand.jobs.window_spec import WindowSpec, parse_window

__all__ = [
    "CHANNEL",
    "FINAL",
    "Action",
    "AgentDesk",
    "AgentInfo",
    "AgentMetrics",
    "Agents",
    "Allowed",
    "Applier",
    "Change",
    "Claims",
    "ControlServer",
    "DatedWindow",
    "Deliver",
    "Domain",
    "Duration",
    "EndedRun",
    "Explanation",
    "FieldChange",
    "Group",
    "GroupSpec",
    "HostDowntimes",
    "Job",
    "JobFileError",
    "JobLedger",
    "JobMetrics",
    "JobSpec",
    "Listening",
    "LogEntry",
    "LoopMetrics",
    "LoopSettings",
    "Misfire",
    "NoDowntimes",
    "Occurrence",
    "OutcomeWatcher",
    "Overlap",
    "Plan",
    "PruneHistory",
    "Queue",
    "Records",
    "ReportWriter",
    "Retry",
    "Run",
    "RunChange",
    "RunStatus",
    "Runner",
    "ServerInfo",
    "ServerState",
    "Servers",
    "Spool",
    "TaskBoard",
    "Thing",
    "Trigger",
    "TriggerType",
    "Weekday",
    "WeeklyWindow",
    "Window",
    "WindowLedger",
    "WindowPolicy",
    "WindowSource",
    "WindowSpec",
    "Written",
    "build_schedule",
    "explain",
    "listening_jobs",
    "look_again_at_postponed",
    "next_allowed",
    "parse_window",
    "preview",
    "read_entries",
    "to_toml",
    "why_nothing_starts",
    "why_waiting",
]
