"""How one run is carried out: what a job kind is, child processes, commands, workers.

Nothing here knows of schedules or the database, so a worker process starts quickly.
"""

from leitstand.execution.child_handle import Children
from leitstand.execution.command import CommandExecutor
from leitstand.execution.executor import Executor, Isolation, Params, Reporter, Result, RunFacts
from leitstand.execution.http import HttpExecutor
from leitstand.execution.interruption import interruptible
from leitstand.execution.kinds import Kinds, third_party_executors, validation_sentence
from leitstand.execution.output import storable
from leitstand.execution.worker_run import run_in_worker

__all__ = [
    "Children",
    "CommandExecutor",
    "Executor",
    "HttpExecutor",
    "Isolation",
    "Kinds",
    "Params",
    "Reporter",
    "Result",
    "RunFacts",
    "interruptible",
    "run_in_worker",
    "storable",
    "third_party_executors",
    "validation_sentence",
]
