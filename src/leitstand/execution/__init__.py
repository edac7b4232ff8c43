"""How one run is carried out: what a job kind is, child processes, commands, workers.

Nothing here knows of schedules or the database, so a worker process starts quickly.
"""

from leitstand.execution.carry_out import Ending, WorkerCall, ending_of, execute
from leitstand.execution.child import ChildResult, ChildSpec
from leitstand.execution.child_handle import ChildHandle, Children
from leitstand.execution.command import CommandExecutor
from leitstand.execution.executor import Executor, Isolation, Params, Reporter, Result, RunFacts
from leitstand.execution.heartbeat import (
    BEAT_DEADLINE,
    FENCE_SHARE,
    Beat,
    Heartbeat,
    News,
    Pulse,
)
from leitstand.execution.held_run import HaltReason, HeldRun, HeldRuns, Lease
from leitstand.execution.http import HttpExecutor
from leitstand.execution.interruption import Interrupted, Interruptions, interruptible
from leitstand.execution.kinds import Kinds, third_party_executors, validation_sentence
from leitstand.execution.log_buffer import RUN_LIMIT, LogBuffer
from leitstand.execution.output import storable
from leitstand.execution.process import run_child
from leitstand.execution.spool import DocumentSpool
from leitstand.execution.worker_protocol import cleaned
from leitstand.execution.worker_run import run_in_worker

__all__ = [
    "BEAT_DEADLINE",
    "FENCE_SHARE",
    "RUN_LIMIT",
    "Beat",
    "ChildHandle",
    "ChildResult",
    "ChildSpec",
    "Children",
    "CommandExecutor",
    "DocumentSpool",
    "Ending",
    "Executor",
    "HaltReason",
    "Heartbeat",
    "HeldRun",
    "HeldRuns",
    "HttpExecutor",
    "Interrupted",
    "Interruptions",
    "Isolation",
    "Kinds",
    "Lease",
    "LogBuffer",
    "News",
    "Params",
    "Pulse",
    "Reporter",
    "Result",
    "RunFacts",
    "WorkerCall",
    "cleaned",
    "ending_of",
    "execute",
    "interruptible",
    "run_child",
    "run_in_worker",
    "storable",
    "third_party_executors",
    "validation_sentence",
]
