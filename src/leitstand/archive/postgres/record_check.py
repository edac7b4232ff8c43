"""Compares ``backup.json``, written when the backup was taken, with what lies on disk now; pure."""

from collections.abc import Mapping

from leitstand.archive.postgres.finding import FindingKind, Findings
from leitstand.archive.postgres.label import BackupLabel
from leitstand.archive.postgres.lsn import format_lsn, parse_lsn
from leitstand.archive.postgres.manifest import Manifest
from leitstand.archive.postgres.stage import MANIFEST, SIDECAR, FileDigest, StageRecord


def check_digests(
    record: StageRecord, digests: Mapping[str, FileDigest], findings: Findings
) -> None:
    """Report archives whose bytes differ from the record, and those it does not know."""
    for name, digest in digests.items():
        expected = record.files.get(name)
        if expected is None:
            findings.add(name, f"it is not in {SIDECAR}", FindingKind.UNEXPECTED)
        elif digest.size != expected.size:
            findings.add(name, f"it has {digest.size} bytes, {SIDECAR} says {expected.size}")
        elif digest.sha256 != expected.sha256:
            findings.add(name, f"its SHA-256 is not the one in {SIDECAR}")


def check_manifest(record: StageRecord, manifest: Manifest, findings: Findings) -> None:
    """Report a manifest that is not the one of the record."""
    if record.manifest_sha256 != manifest.sha256:
        findings.add(MANIFEST, f"it is not the manifest of this backup: {SIDECAR} has another one")
    known = manifest.system_identifier
    if known is not None and known != record.system_identifier:
        problem = f"it comes from the system {known}, {SIDECAR} says {record.system_identifier}"
        findings.add(MANIFEST, problem)
    ends = {wal_range.end for wal_range in manifest.wal_ranges}
    if parse_lsn(record.end_lsn) not in ends:
        findings.add(MANIFEST, f"its WAL does not end at {record.end_lsn}, as {SIDECAR} says")


def check_label(record: StageRecord, label: BackupLabel, archive: str, findings: Findings) -> None:
    """Report a backup label that is not the one of the record."""
    if label.start.lsn != parse_lsn(record.start_lsn):
        place = format_lsn(label.start.lsn)
        problem = f"its backup starts at {place}, {SIDECAR} says {record.start_lsn}"
        findings.add(archive, problem)
    if (label.incremental_from is None) != (record.parent is None):
        findings.add(archive, f"its label and {SIDECAR} differ on whether it is an increment")


def check_tablespaces(
    record: StageRecord, mapped: Mapping[int, bytes], archive: str, findings: Findings
) -> None:
    """Report a tablespace map that does not name the tablespaces of the record."""
    if {space.oid for space in record.tablespaces} != set(mapped):
        findings.add(archive, f"its tablespace_map and {SIDECAR} name different tablespaces")
