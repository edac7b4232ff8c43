"""Verification of a generation of PostgreSQL backups: every byte of every stage, and the chain.

Everything here only reads the backup and blocks: run it in a worker process. Work is bounded by the
size of the files, whatever they hold; child processes have deadlines.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.postgres.chain import check_chain
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.layout import (
    Stages,
    no_such_generation,
    not_a_directory,
    stages_of,
)
from leitstand.archive.postgres.stage import FULL_DIR, SIDECAR, stage_name
from leitstand.archive.postgres.stage_check import StageReport
from leitstand.archive.postgres.stage_reading import StageTask, read_stages
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
"""Called in whichever thread, never twice at once; what it raises ends the verification."""


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

    Faults are findings, all of them, and later stages are still read. What vanishes meanwhile is a
    finding too, and so is a link or a file in the generation's place. ``scratch`` is where WAL is
    unpacked for a while, by default the system's temporary directory. Raises NotFoundError when
    there is no such generation, ScratchError when WAL cannot be unpacked, ProgramsMissingError
    without pg_waldump.
    """
    binaries.path("pg_waldump")
    wrong = not_a_directory(generation_dir)
    if wrong is not None and wrong.kind is FindingKind.MISSING:
        raise no_such_generation(generation_dir.parent, generation_dir.name)
    there = stages_of(generation_dir) if wrong is None else Stages((), (wrong,))
    found = list(there.findings)
    reports = []
    for stage in _check(there.paths, binaries, report, scratch):
        reports.append(stage)
        found += stage.findings
        found += _check_names(stage, generation_dir.name)
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
    (checked,) = _check([path], binaries, report, scratch)
    return checked


def _check(
    paths: Sequence[Path], binaries: Binaries, report: Report | None, scratch: Path | None
) -> Iterator[StageReport]:
    scratch = None if scratch is None else scratch.absolute()
    tasks = [StageTask(path.absolute(), scratch=scratch) for path in paths]
    meter = _Meter(report, sum(task.size for task in tasks))
    return read_stages(tasks, binaries, meter.count)


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


class _Meter:
    """Counts bytes over all stages and reports them now and then."""

    def __init__(self, report: Report | None, total: int) -> None:
        self._report = report
        self._total = total
        self._read = 0
        self._due = 0.0

    def count(self, path: Path, file: str, read: int) -> None:
        self._read += read
        if self._report is not None and time.monotonic() >= self._due:
            self._due = time.monotonic() + REPORT_INTERVAL
            self._report(VerifyProgress(stage_name(path), file, self._read, self._total))
