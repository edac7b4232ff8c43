"""Feature flags: managed in the database, evaluated from memory, answered whatever happens."""

from leitstand.flags.evaluation import Evaluation, Reason
from leitstand.flags.flag import (
    Flag,
    FlagChange,
    FlagKeyError,
    FlagRolloutError,
    FlagTargetError,
    FlagVersion,
)
from leitstand.flags.flag_ledger import CHANNEL, FlagLedger, FlagVersionError
from leitstand.flags.flag_memory import FlagMemory
from leitstand.flags.flag_metrics import FlagMetrics
from leitstand.flags.flags import Flags
from leitstand.flags.ofrep import OfrepAnswer, evaluate_all, evaluate_one
from leitstand.flags.rollout import bucket, evaluate_known

__all__ = [
    "CHANNEL",
    "Evaluation",
    "Flag",
    "FlagChange",
    "FlagKeyError",
    "FlagLedger",
    "FlagMemory",
    "FlagMetrics",
    "FlagRolloutError",
    "FlagTargetError",
    "FlagVersion",
    "FlagVersionError",
    "Flags",
    "OfrepAnswer",
    "Reason",
    "bucket",
    "evaluate_all",
    "evaluate_known",
    "evaluate_one",
]
