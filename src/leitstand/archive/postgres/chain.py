"""The rules by which the stages of a generation follow one another; pure, no file is read.

``pg_combinebackup`` needs each increment to start from exactly the backup before it. A stage is
identified by its manifest, system, timeline and WAL position, never by its name or age alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.label import LABEL, BackupLabel, Position
from leitstand.archive.postgres.lsn import format_lsn
from leitstand.archive.postgres.stage import BASE, MANIFEST, SIDECAR, StageRecord

_IN_BASE = f"{BASE}:{LABEL.decode()}"


@dataclass(frozen=True)
class StageFacts:
    """What a stage says about itself; None for what could not be learnt, which has its own finding.

    ``name`` is the stage's name in findings, ``id`` that of its directory.
    """

    name: str
    id: str
    label: BackupLabel | None
    system_identifier: str | None
    manifest_sha256: str | None
    record: StageRecord | None


def check_chain(stages: Sequence[StageFacts]) -> tuple[Finding, ...]:
    """What is wrong with the sequence ``stages``: the full backup first, then increments by id."""
    found = list(_check_first(stages[0])) if stages else []
    for before, stage in pairwise(stages):
        found += _check_label(before, stage)
        found += _check_record(before, stage)
        found += _check_system(before, stage)
    return tuple(found)


def _check_first(full: StageFacts) -> Iterator[Finding]:
    if full.label is not None and full.label.incremental_from is not None:
        yield _finding(full, _IN_BASE, "the first backup of the generation is an increment")
    if full.record is not None and full.record.parent is not None:
        yield _finding(full, SIDECAR, "the first backup of the generation has a parent")


def _check_label(before: StageFacts, stage: StageFacts) -> Iterator[Finding]:
    if stage.label is None:
        return
    origin = stage.label.incremental_from
    if origin is None:
        yield _finding(stage, _IN_BASE, "it is a full backup where an increment belongs")
    elif before.label is not None and origin != before.label.start:
        yield _finding(
            stage,
            _IN_BASE,
            f"it builds on the backup that started at {_place(origin)}, but the one before it,"
            f" {before.name}, started at {_place(before.label.start)}",
        )


def _check_record(before: StageFacts, stage: StageFacts) -> Iterator[Finding]:
    if stage.record is None or stage.record.parent is None:
        return
    parent = stage.record.parent
    if before.record is not None and parent.id != before.record.id:
        yield _finding(
            stage, SIDECAR, f"its parent is {parent.id}, but {before.record.id} stands before it"
        )
    if before.manifest_sha256 is not None and parent.manifest_sha256 != before.manifest_sha256:
        yield _finding(stage, SIDECAR, f"the {MANIFEST} of {before.name} is not that of its parent")


def _check_system(before: StageFacts, stage: StageFacts) -> Iterator[Finding]:
    known = before.system_identifier is not None and stage.system_identifier is not None
    if known and before.system_identifier != stage.system_identifier:
        yield _finding(
            stage,
            MANIFEST,
            f"it comes from the system {stage.system_identifier},"
            f" {before.name} from {before.system_identifier}",
        )


def _place(position: Position) -> str:
    return f"{format_lsn(position.lsn)} on time line {position.timeline}"


def _finding(stage: StageFacts, file: str, problem: str) -> Finding:
    return Finding(stage.name, file, problem, FindingKind.CHAIN)
