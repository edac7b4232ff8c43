"""Backups of PostgreSQL, and the proof that they come back."""

from leitstand.archive.backup_metrics import BackupMetrics
from leitstand.archive.drills.copy_check import ExpectedAnswer
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.drills.drill_metrics import DrillMetrics
from leitstand.archive.drills.newest_drill import drill_database
from leitstand.archive.kinds import PostgresBackup, PostgresRotate, PostgresVerify, RestoreDrill
from leitstand.archive.postgres.backup import (
    BackupResult,
    Repository,
    take_full,
    take_incremental,
)
from leitstand.archive.postgres.basebackup import BackupProgress
from leitstand.archive.postgres.catalogue import Generation, GenerationState, list_generations
from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.materialise import Materialised, MaterialiseProgress
from leitstand.archive.postgres.retention import Policy
from leitstand.archive.postgres.rotate import rotate
from leitstand.archive.postgres.verify import Verdict, VerifyProgress
from leitstand.archive.restoring import RestoreRequest, restore_generation
from leitstand.archive.settings import ArchiveSettings, DrillSettings
from leitstand.archive.verification import NEWEST, verify_chosen

__all__ = [
    "NEWEST",
    "ArchiveSettings",
    "BackupMetrics",
    "BackupProgress",
    "BackupResult",
    "Drill",
    "DrillKind",
    "DrillLedger",
    "DrillMetrics",
    "DrillSettings",
    "ExpectedAnswer",
    "Generation",
    "GenerationState",
    "MaterialiseProgress",
    "Materialised",
    "Policy",
    "PostgresBackup",
    "PostgresRotate",
    "PostgresVerify",
    "Repository",
    "RestoreDrill",
    "RestoreRequest",
    "Source",
    "Verdict",
    "VerifyProgress",
    "drill_database",
    "list_generations",
    "restore_generation",
    "rotate",
    "take_full",
    "take_incremental",
    "verify_chosen",
]
