"""Downtimes of a Naemon or Nagios core: from its messages to Statusengine's tables."""

from leitstand.downtimes.applier import Applier
from leitstand.downtimes.consumer import Consumer, ConsumerState
from leitstand.downtimes.dead_letters import DeadLetter, DeadLetters
from leitstand.downtimes.downtime import Kind, State
from leitstand.downtimes.downtime_metrics import DowntimeMetrics
from leitstand.downtimes.feed import FeedError, Source
from leitstand.downtimes.hand_in import ingest, replay
from leitstand.downtimes.herald import Herald
from leitstand.downtimes.host_downtimes import MonitoredHosts, WaitingJobs
from leitstand.downtimes.intake import Counts, Intake, Listeners
from leitstand.downtimes.listeners import Announcer, Broadcast, JobsOfHosts
from leitstand.downtimes.news import Happened
from leitstand.downtimes.pages import Wanted
from leitstand.downtimes.reaper import Reaped, Reaper
from leitstand.downtimes.sources import QueueSettings, check_source, make_source
from leitstand.downtimes.target import Target, check_url, open_control_target, open_target
from leitstand.downtimes.views import Shown, Status, Views

__all__ = [
    "Announcer",
    "Applier",
    "Broadcast",
    "Consumer",
    "ConsumerState",
    "Counts",
    "DeadLetter",
    "DeadLetters",
    "DowntimeMetrics",
    "FeedError",
    "Happened",
    "Herald",
    "Intake",
    "JobsOfHosts",
    "Kind",
    "Listeners",
    "MonitoredHosts",
    "QueueSettings",
    "Reaped",
    "Reaper",
    "Shown",
    "Source",
    "State",
    "Status",
    "Target",
    "Views",
    "WaitingJobs",
    "Wanted",
    "check_source",
    "check_url",
    "ingest",
    "make_source",
    "open_control_target",
    "open_target",
    "replay",
]
