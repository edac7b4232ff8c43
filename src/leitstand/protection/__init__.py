"""Self-protection: the jobs by which Leitstand backs up its own database and proves it."""

from leitstand.protection.duty import ProtectionDuty
from leitstand.protection.protection_jobs import ProtectionTimes, protection_specs

__all__ = ["ProtectionDuty", "ProtectionTimes", "protection_specs"]
