"""Verification of a generation of PostgreSQL backups: every byte of every stage, and the chain.

Everything here only reads the backup and blocks: run it in a worker process. Work is bounded by the
size of the files, whatever they hold; child processes have deadlines.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.postgres.chain import check_chain
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.stage import (
    FULL_DIR,
    INCREMENTAL_DIR,
    SIDECAR,
    is_backup_id,
    stage_name,
)
from leitstand.archive.postgres.stage_check import Nowhere, StageCheck, StageReport
from leitstand.errors import NotFoundError
from leitstand.store.binaries import Binaries

REPORT_INTERVAL = 0.5
"""Seconds between two progress reports."""


@dataclass(frozen=True)
class VerifyProgress:
    """How far a verification is, in compressed bytes; ``stage`` and ``file`` are being read."""

    stage: str
    file: str
    bytes_read: int
    bytes_total: int


Report = Callable[[VerifyProgress], None]
"""Called in the reading thread, never twice at once; what it raises ends the verification."""


@dataclass(frozen=True)
class Verdict:
    """What verification found in a generation; ``ok`` means that it can be restored.

    ``notes`` are no faults: parts that no checksum covers. ``stages`` are those that were read, in
    the order of the chain; ``bytes_read`` counts compressed bytes.
    """

    generation: str
    ok: bool
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    stages: tuple[StageReport, ...]
    bytes_read: int

    def as_dict(self) -> dict[str, object]:
        """The verdict's JSON shape."""
        return {
            "ok": self.ok,
            "generation": self.generation,
            "findings": [finding.as_dict() for finding in self.findings],
            "notes": [note.as_dict() for note in self.notes],
            "stages": [stage.facts.name for stage in self.stages],
            "bytes_read": self.bytes_read,
        }


def verify_generation(
    generation_dir: Path,
    binaries: Binaries,
    report: Report | None = None,
    *,
    scratch: Path | None = None,
) -> Verdict:
    """Verify all stages of the generation in ``generation_dir`` and how they follow one another.

    Faults are findings, all of them, and later stages are still read. What vanishes meanwhile
    (a rotation) is a finding too. ``scratch`` is where WAL is unpacked for a while, by default the
    system's temporary directory. Raises NotFoundError when there is no such generation,
    ScratchError when WAL cannot be unpacked, ProgramsMissingError without pg_waldump.
    """
    if not generation_dir.is_dir():
        raise NotFoundError(f"there is no generation {generation_dir}")
    binaries.path("pg_waldump")
    paths, found = _stage_paths(generation_dir)
    meter = _Meter(report, sum(_stage_size(path) for path in paths))
    reports = []
    for path in paths:
        reports.append(_check(path, binaries, meter, scratch))
        found += reports[-1].findings
        found += _check_names(reports[-1], generation_dir.name)
    found += check_chain([stage.facts for stage in reports])
    return Verdict(
        generation=generation_dir.name,
        ok=not found,
        findings=tuple(found),
        notes=tuple(note for stage in reports for note in stage.notes),
        stages=tuple(reports),
        bytes_read=sum(stage.bytes_read for stage in reports),
    )


def verify_stage(
    path: Path, binaries: Binaries, report: Report | None = None, *, scratch: Path | None = None
) -> StageReport:
    """Verify one stage by itself, as after a backup, still under its temporary name.

    Whether it continues a chain is for ``check_chain``, with the facts of this report. Raises as
    ``verify_generation``.
    """
    return _check(path, binaries, _Meter(report, _stage_size(path)), scratch)


def _check(path: Path, binaries: Binaries, meter: "_Meter", scratch: Path | None) -> StageReport:
    on_bytes = meter.counter_for(path)
    return StageCheck(path, binaries, on_bytes, Nowhere(), scratch).run()


def _stage_paths(generation_dir: Path) -> tuple[list[Path], list[Finding]]:
    """The stages in the order of the chain; a full one is always among them, there or not."""
    paths, found = [generation_dir / FULL_DIR], []
    if not paths[0].is_dir():
        paths = []
        problem = "the full backup does not exist"
        found.append(Finding(FULL_DIR, "", problem, FindingKind.MISSING))
    increments = generation_dir / INCREMENTAL_DIR
    try:
        names = sorted(path.name for path in increments.iterdir() if is_backup_id(path.name))
    except FileNotFoundError:
        names = []
    except OSError as error:
        problem = f"the directory cannot be listed: {error.strerror}"
        found.append(Finding(INCREMENTAL_DIR, "", problem, FindingKind.UNREADABLE))
        names = []
    return paths + [increments / name for name in names], found


def _check_names(stage: StageReport, generation: str) -> list[Finding]:
    """A record that was moved: it names another generation or id than the directories do."""
    facts = stage.facts
    if facts.record is None:
        return []
    found = []
    if facts.record.generation != generation:
        found.append(f"it belongs to the generation {facts.record.generation}")
    if facts.id not in (FULL_DIR, facts.record.id):
        found.append(f"it belongs to the backup {facts.record.id}")
    return [Finding(facts.name, SIDECAR, problem, FindingKind.CHAIN) for problem in found]


def _stage_size(path: Path) -> int:
    """The bytes of the stage's files; what cannot be asked now is a finding when it is read."""
    try:
        return sum(file.lstat().st_size for file in path.iterdir())
    except OSError:
        return 0


class _Meter:
    """Counts bytes over all stages and reports them now and then."""

    def __init__(self, report: Report | None, total: int) -> None:
        self._report = report
        self._total = total
        self._read = 0
        self._due = 0.0

    def counter_for(self, path: Path) -> Callable[[str, int], None]:
        stage = stage_name(path)

        def count(file: str, read: int) -> None:
            self._read += read
            if self._report is not None and time.monotonic() >= self._due:
                self._due = time.monotonic() + REPORT_INTERVAL
                self._report(VerifyProgress(stage, file, self._read, self._total))

        return count
