"""Self-protection: the jobs by which Leitstand backs up its own database and proves it."""

from leitstand.protection.duty import ProtectedJobs, ProtectionDuty
from leitstand.protection.next_steps import Evidence
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

__all__ = [
    "DRILL",
    "FULL",
    "GROUP",
    "INCREMENTAL",
    "OWN_JOBS",
    "ROTATE",
    "VERIFY",
    "Evidence",
    "ProtectedJobs",
    "ProtectionDuty",
    "ProtectionTimes",
    "protection_specs",
    "refuse_deletion",
]
