"""Self-protection: the jobs by which Leitstand backs up its own database and proves it."""

from leitstand.protection.duty import ProtectedJobs, ProtectionDuty
from leitstand.protection.next_steps import Evidence
from leitstand.protection.protection_jobs import (
    GROUP,
    OWN_JOBS,
    ProtectionTimes,
    protection_specs,
    refuse_deletion,
)

__all__ = [
    "GROUP",
    "OWN_JOBS",
    "Evidence",
    "ProtectedJobs",
    "ProtectionDuty",
    "ProtectionTimes",
    "protection_specs",
    "refuse_deletion",
]
