"""Self-protection: the jobs and rules by which Leitstand keeps and watches itself."""

from leitstand.protection.duty import ProtectedJobs, ProtectionDuty
from leitstand.protection.next_steps import Evidence
from leitstand.protection.own_jobs import create_own_jobs
from leitstand.protection.protection_jobs import (
    DRILL,
    FULL,
    GROUP,
    INCREMENTAL,
    OWN_JOBS,
    ROTATE,
    VERIFY,
    ProtectionTimes,
    protection_specs,
    refuse_deletion,
)
from leitstand.protection.watch import (
    WATCH_JOBS,
    create_rules,
    default_rules,
    refuse_rule_deletion,
    refuse_watch_deletion,
    remove_evaluation,
    watch_specs,
)

__all__ = [
    "DRILL",
    "FULL",
    "GROUP",
    "INCREMENTAL",
    "OWN_JOBS",
    "ROTATE",
    "VERIFY",
    "WATCH_JOBS",
    "Evidence",
    "ProtectedJobs",
    "ProtectionDuty",
    "ProtectionTimes",
    "create_own_jobs",
    "create_rules",
    "default_rules",
    "protection_specs",
    "refuse_deletion",
    "refuse_rule_deletion",
    "refuse_watch_deletion",
    "remove_evaluation",
    "watch_specs",
]
