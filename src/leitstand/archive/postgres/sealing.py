"""Verifies a backup that was just taken, and writes its record: from then on it counts as one.

The archives are read once: the pass that verifies them also yields the digests of the record, while
another thread has the disk write them.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from leitstand.archive.postgres.backup_lock import own_like
from leitstand.archive.postgres.canary import Canaries
from leitstand.archive.postgres.chain import StageFacts, check_chain
from leitstand.archive.postgres.config_files import (
    CONFIG_FILES,
    ConfigFile,
    digest_of,
    to_document,
)
from leitstand.archive.postgres.durable import sync_path, sync_tree, write_durably
from leitstand.archive.postgres.finding import Finding
from leitstand.archive.postgres.label import BackupLabel, Position
from leitstand.archive.postgres.lsn import format_lsn, parse_lsn
from leitstand.archive.postgres.manifest import Manifest
from leitstand.archive.postgres.stage import (
    SIDECAR,
    FileDigest,
    Parent,
    StageKind,
    StageRecord,
    Tablespace,
)
from leitstand.archive.postgres.stage_check import Nowhere, StageCheck, StageReport
from leitstand.display import counted
from leitstand.errors import LeitstandError
from leitstand.store.binaries import Binaries

SHOWN = 5
"""How many findings an error lists."""


class BackupDamagedError(LeitstandError):
    """The backup that was just taken does not verify; it is thrown away."""

    code = "BACKUP_DAMAGED"


@dataclass(frozen=True)
class Identity:
    """What a backup will be called, and what it continues.

    ``chain`` are the stages before it, ``parent_manifest`` the last one's manifest.
    """

    id: str
    generation: str
    chain: tuple[StageRecord, ...] = ()
    parent_manifest: Path | None = None

    @property
    def kind(self) -> StageKind:
        """Full when nothing comes before it."""
        return StageKind.INCREMENTAL if self.chain else StageKind.FULL

    @property
    def parent(self) -> Parent | None:
        """The backup immediately before it."""
        if not self.chain:
            return None
        return Parent(self.chain[-1].id, self.chain[-1].manifest_sha256)


@dataclass(frozen=True)
class Taking:
    """When the data was copied, what the server said of itself and its tables, and its
    configuration files.
    """

    started_at: datetime
    finished_at: datetime
    version: str
    history: str | None
    canaries: Canaries | None = None
    config: Sequence[ConfigFile] = ()


@dataclass(frozen=True)
class Verifier:
    """By what a stage is verified; ``on_bytes`` is told the file and each count of bytes read."""

    binaries: Binaries
    on_bytes: Callable[[str, int], None]
    scratch: Path | None = None

    def check(self, directory: Path) -> "_SealingCheck":
        """The check of one stage."""
        return _SealingCheck(directory, self.binaries, self.on_bytes, Nowhere(), self.scratch)


def seal(directory: Path, identity: Identity, taking: Taking, verifier: Verifier) -> StageRecord:
    """Verify the stage in ``directory``, make it durable, write its record and return that.

    Raises BackupDamagedError when it does not verify or does not follow ``identity.chain``,
    OSError when it cannot be written.
    """
    check = verifier.check(directory)
    with ThreadPoolExecutor(1) as pool:
        synced = pool.submit(sync_tree, directory)
        report = check.run()
        synced.result()
    _require_intact(report.findings)
    record = _record(identity, taking, report, check)
    _require_intact(check_chain([*facts_of(identity.chain), _facts(report, record, identity)]))
    if taking.config:
        write_durably(directory / CONFIG_FILES, to_document(taking.config))
    write_durably(directory / SIDECAR, record.to_json())
    _own_tree(directory)
    sync_path(directory)
    return record


def facts_of(chain: Sequence[StageRecord]) -> list[StageFacts]:
    """What the records alone say about stages that follow one another."""
    facts, before = [], None
    for record in chain:
        start = Position(record.timeline, parse_lsn(record.start_lsn))
        facts.append(
            StageFacts(
                name=record.id,
                id=record.id,
                label=BackupLabel(start, before),
                system_identifier=record.system_identifier,
                manifest_sha256=record.manifest_sha256,
                record=record,
            )
        )
        before = start
    return facts


class _SealingCheck(StageCheck):
    """Keeps what the check learns on its way and the record needs."""

    manifest: Manifest | None = None

    @property
    def digests(self) -> dict[str, FileDigest]:
        return self._digests

    def _read_manifest(self) -> Manifest | None:
        self.manifest = super()._read_manifest()
        return self.manifest


def _record(
    identity: Identity, taking: Taking, report: StageReport, check: _SealingCheck
) -> StageRecord:
    label, manifest = report.facts.label, check.manifest
    if label is None or manifest is None or manifest.system_identifier is None:
        raise BackupDamagedError(  # verification has found that already, unless PostgreSQL changed
            "the backup states no label, manifest or system identifier"
        )
    return StageRecord(
        id=identity.id,
        kind=identity.kind,
        generation=identity.generation,
        parent=identity.parent,
        system_identifier=manifest.system_identifier,
        timeline=label.start.timeline,
        start_lsn=format_lsn(label.start.lsn),
        end_lsn=format_lsn(max(wal_range.end for wal_range in manifest.wal_ranges)),
        started_at=taking.started_at,
        finished_at=taking.finished_at,
        postgres_version=taking.version,
        history=taking.history,
        canaries=taking.canaries,
        config_sha256=digest_of(to_document(taking.config).encode()) if taking.config else None,
        manifest_sha256=manifest.sha256,
        files=check.digests,
        tablespaces=tuple(
            Tablespace(oid, os.fsdecode(place), f"{oid}.tar.gz")
            for oid, place in sorted(report.tablespaces.items())
        ),
    )


def _facts(report: StageReport, record: StageRecord, identity: Identity) -> StageFacts:
    return replace(report.facts, name=identity.id, id=identity.id, record=record)


def _require_intact(findings: Sequence[Finding]) -> None:
    if not findings:
        return
    lines = [f"{finding.file}: {finding.problem}" for finding in findings[:SHOWN]]
    raise BackupDamagedError(
        f"the backup that was just taken does not verify ({counted(len(findings), 'finding')})",
        detail="\n".join(lines),
        remedy="Look at the server's log, the network and this machine's memory and disk; the"
        " attempt was thrown away, earlier backups are untouched.",
    )


def _own_tree(directory: Path) -> None:
    """As root, leave the files to the owner of the directory that they were made in."""
    model = directory.parent
    own_like(directory, model)
    for path in directory.iterdir():
        own_like(path, model)


def bytes_of(record: StageRecord) -> int:
    """The size of a stage's archives."""
    return sum(digest.size for digest in record.files.values())
