"""Backups of PostgreSQL and of objects, the proof that they come back, and that they are right."""

from leitstand.archive.backup_metrics import BackupMetrics
from leitstand.archive.checker.run_selftest import run_selftest
from leitstand.archive.checker.selftest import Planted, Selftest
from leitstand.archive.checker.selftest_kind import CheckerSelftest
from leitstand.archive.checker.selftest_ledger import SelftestLedger
from leitstand.archive.checker.selftest_metrics import SelftestMetrics
from leitstand.archive.drills.copy_check import ExpectedAnswer
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.drills.drill_metrics import DrillMetrics
from leitstand.archive.drills.drills_in_turn import as_document, drill_in_turn
from leitstand.archive.drills.newest_drill import drill_database
from leitstand.archive.integrity.demonstration import TABLE as DEMONSTRATION_TABLE
from leitstand.archive.integrity.demonstration import Demonstration
from leitstand.archive.integrity.integrity_metrics import IntegrityMetrics
from leitstand.archive.integrity.integrity_run import run_reconcile, run_scrub
from leitstand.archive.integrity.kinds import Reconcile, Scrub
from leitstand.archive.integrity.quota import Quota, parse_size
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.scrubbing import Scrubbing
from leitstand.archive.integrity.settings import IntegritySettings
from leitstand.archive.kinds import PostgresBackup, PostgresRotate, PostgresVerify, RestoreDrill
from leitstand.archive.objective_metrics import ObjectiveMetrics
from leitstand.archive.objectives import Judgement, Objectives, breaches, judge
from leitstand.archive.objects.joint_drill import JointDrill, drill_together
from leitstand.archive.objects.listing import ListedSnapshot, SnapshotState, list_snapshots
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_backup import ObjectBackup, back_up_objects
from leitstand.archive.objects.object_check import CheckRequest, CheckResult, check_objects
from leitstand.archive.objects.object_drill import (
    KnownObject,
    ObjectDrill,
    SampleSource,
    drill_objects,
)
from leitstand.archive.objects.object_kinds import (
    ObjectBackupKind,
    ObjectCheckKind,
    ObjectRotateKind,
    backup_lines,
)
from leitstand.archive.objects.object_ledger import ObjectLedger
from leitstand.archive.objects.object_metrics import ObjectMetrics
from leitstand.archive.objects.object_repository import ObjectRepository
from leitstand.archive.objects.object_restore import (
    ObjectRestore,
    RestoredObjects,
    restore_objects,
)
from leitstand.archive.objects.object_rotation import ObjectRotation, rotate_objects
from leitstand.archive.objects.opening import OpenRepository, open_repository
from leitstand.archive.objects.restic import Restic
from leitstand.archive.objects.revision_sample import RevisionSample
from leitstand.archive.objects.snapshot import SHOWN
from leitstand.archive.postgres.backup import (
    BackupResult,
    Repository,
    take_full,
    take_incremental,
)
from leitstand.archive.postgres.basebackup import BackupProgress
from leitstand.archive.postgres.canary import CanaryChoice, TableChoice
from leitstand.archive.postgres.catalogue import Generation, GenerationState, list_generations
from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.directory_ledger import DirectoryLedger
from leitstand.archive.postgres.known_directory import remember_directory, require_known_directory
from leitstand.archive.postgres.materialise import Materialised, MaterialiseProgress
from leitstand.archive.postgres.retention import Policy
from leitstand.archive.postgres.rotate import rotate
from leitstand.archive.postgres.verify import Verdict, VerifyProgress
from leitstand.archive.proof.database_sections import (
    BackupsSection,
    DrillsSection,
    ObjectivesSection,
    RetentionSection,
    SelftestSection,
)
from leitstand.archive.proof.integrity_sections import ReconcileSection, ScrubSection
from leitstand.archive.proof.object_section import SnapshotsSection, recorded_snapshots
from leitstand.archive.proof.report import (
    ProofFinding,
    ProofReport,
    Section,
    SectionReport,
    examine_sections,
)
from leitstand.archive.proof.seal import broken_seals, read_sealed, sealed
from leitstand.archive.restoring import RestoreRequest, restore_generation
from leitstand.archive.settings import ArchiveSettings, DrillSettings
from leitstand.archive.verification import NEWEST, verify_chosen

__all__ = [
    "DEMONSTRATION_TABLE",
    "NEWEST",
    "SHOWN",
    "ArchiveSettings",
    "BackupMetrics",
    "BackupProgress",
    "BackupResult",
    "BackupsSection",
    "CanaryChoice",
    "CheckRequest",
    "CheckResult",
    "CheckerSelftest",
    "Demonstration",
    "DirectoryLedger",
    "Drill",
    "DrillKind",
    "DrillLedger",
    "DrillMetrics",
    "DrillSettings",
    "DrillsSection",
    "ExpectedAnswer",
    "Generation",
    "GenerationState",
    "IntegrityMetrics",
    "IntegritySettings",
    "JointDrill",
    "Judgement",
    "KnownObject",
    "ListedSnapshot",
    "MaterialiseProgress",
    "Materialised",
    "ObjectArchive",
    "ObjectBackup",
    "ObjectBackupKind",
    "ObjectCheckKind",
    "ObjectDrill",
    "ObjectLedger",
    "ObjectMetrics",
    "ObjectRepository",
    "ObjectRestore",
    "ObjectRotateKind",
    "ObjectRotation",
    "ObjectiveMetrics",
    "Objectives",
    "ObjectivesSection",
    "OpenRepository",
    "Planted",
    "Policy",
    "PostgresBackup",
    "PostgresRotate",
    "PostgresVerify",
    "ProofFinding",
    "ProofReport",
    "Quota",
    "Reconcile",
    "ReconcileSection",
    "Reconciliation",
    "Repository",
    "Restic",
    "RestoreDrill",
    "RestoreRequest",
    "RestoredObjects",
    "RetentionSection",
    "RevisionSample",
    "SampleSource",
    "Scrub",
    "ScrubSection",
    "Scrubbing",
    "Section",
    "SectionReport",
    "Selftest",
    "SelftestLedger",
    "SelftestMetrics",
    "SelftestSection",
    "SnapshotState",
    "SnapshotsSection",
    "Source",
    "TableChoice",
    "Verdict",
    "VerifyProgress",
    "as_document",
    "back_up_objects",
    "backup_lines",
    "breaches",
    "broken_seals",
    "check_objects",
    "drill_database",
    "drill_in_turn",
    "drill_objects",
    "drill_together",
    "examine_sections",
    "judge",
    "list_generations",
    "list_snapshots",
    "open_repository",
    "parse_size",
    "read_sealed",
    "recorded_snapshots",
    "remember_directory",
    "require_known_directory",
    "restore_generation",
    "restore_objects",
    "rotate",
    "rotate_objects",
    "run_reconcile",
    "run_scrub",
    "run_selftest",
    "sealed",
    "take_full",
    "take_incremental",
    "verify_chosen",
]
