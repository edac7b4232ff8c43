"""The sections of the proof that speak of PostgreSQL backups."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from leitstand.archive.age import in_future
from leitstand.archive.checker.selftest import Selftest
from leitstand.archive.checker.selftest_ledger import SelftestLedger
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.drills.drills_in_turn import drill_document
from leitstand.archive.objectives import breaches, judge
from leitstand.archive.postgres.catalogue import (
    Generation,
    GenerationState,
    StageEntry,
    list_generations,
)
from leitstand.archive.postgres.rotate import rotate
from leitstand.archive.proof.report import ProofFinding, SectionReport
from leitstand.archive.settings import ArchiveSettings

FULL_NOW = "Take a full backup now (leitstand backup postgres full), and find out what damaged it."
DRILL_NOW = "Mend what kept from it, then: leitstand drill run"
DRILLS_SHOWN = 10
SELFTEST_AGE = timedelta(days=8)
"""A weekly self-test and a day of patience."""


@dataclass(frozen=True)
class BackupsSection:
    """What lies in the backup directory: state, chain, age, verified, drilled."""

    archive: ArchiveSettings
    name: ClassVar[str] = "postgres_backups"
    title: ClassVar[str] = "Backups of PostgreSQL"

    async def report(self, now: datetime) -> SectionReport:
        """Damaged and unverified generations are findings, and that there is none."""
        generations = await asyncio.to_thread(list_generations, self.archive.directory)
        found = [finding for each in generations for finding in _about(each)]
        if not any(each.state is GenerationState.COMPLETE for each in generations):
            found.insert(0, ProofFinding(str(self.archive.directory), "no sound backup", FULL_NOW))
        facts = {"generations": [_facts(each, now) for each in generations]}
        return SectionReport(self.name, self.title, facts, tuple(found))


@dataclass(frozen=True)
class DrillsSection:
    """Which backups came back in a drill, with their known answers."""

    archive: ArchiveSettings
    drills: DrillLedger
    name: ClassVar[str] = "postgres_drills"
    title: ClassVar[str] = "Restore drills of PostgreSQL"

    async def report(self, now: datetime) -> SectionReport:
        """Every stage whose newest drill failed is a finding, and a failure without a stage."""
        generations = await asyncio.to_thread(list_generations, self.archive.directory)
        history = await self.drills.history(DrillKind.DATABASE, DRILLS_SHOWN)
        stages = [stage for generation in generations for stage in generation.stages]
        facts = {
            "stages": len(stages),
            "stages_drilled": sum(stage.drilled_at is not None for stage in stages),
            "latest": [drill_document(drill) for drill in history],
        }
        return SectionReport(
            self.name, self.title, facts, tuple(_failed(generations, stages, history))
        )


@dataclass(frozen=True)
class ObjectivesSection:
    """What was promised of recovery, and whether it is kept; overdue rotation is among it."""

    archive: ArchiveSettings
    drills: DrillLedger
    name: ClassVar[str] = "objectives"
    title: ClassVar[str] = "Recovery objectives"

    async def report(self, now: datetime) -> SectionReport:
        """Each broken promise is a finding."""
        archive = self.archive
        generations = await asyncio.to_thread(list_generations, archive.directory)
        drills = await self.drills.history(DrillKind.DATABASE, DRILLS_SHOWN)
        judged = judge(archive.objectives, generations, archive.policy, drills, now)
        found = (ProofFinding(each.objective, each.sentence) for each in breaches(judged))
        facts = {"promises": [judgement.as_dict() for judgement in judged]}
        return SectionReport(self.name, self.title, facts, tuple(found))


@dataclass(frozen=True)
class RetentionSection:
    """What rotation would keep and remove now, and why."""

    archive: ArchiveSettings
    name: ClassVar[str] = "postgres_retention"
    title: ClassVar[str] = "Retention of PostgreSQL backups"

    async def report(self, now: datetime) -> SectionReport:
        """No findings: what rotation did not do is a broken promise."""
        archive = self.archive
        plan = await asyncio.to_thread(rotate, archive.directory, archive.policy, dry_run=True)
        facts = {
            "policy": dict(vars(archive.policy)),
            "decisions": [decision.as_dict() for decision in plan.plan.decisions],
        }
        return SectionReport(self.name, self.title, facts)


@dataclass(frozen=True)
class SelftestSection:
    """Whether the checker finds damage that was planted for it."""

    ledger: SelftestLedger
    name: ClassVar[str] = "checker_selftest"
    title: ClassVar[str] = "Self-test of the checker"

    async def report(self, now: datetime) -> SectionReport:
        """A miss is a finding, and so is that there was no self-test lately."""
        latest = next(iter(await self.ledger.history(limit=1)), None)
        facts = {
            "latest": None if latest is None else latest.as_dict(),
            "missed_ever": await self.ledger.missed(),
        }
        return SectionReport(self.name, self.title, facts, tuple(_about_selftest(latest, now)))


def _about(generation: Generation) -> Iterator[ProofFinding]:
    for finding in generation.findings:
        yield ProofFinding(generation.id, finding.sentence, FULL_NOW)
    if generation.state is GenerationState.COMPLETE and generation.verified_at is None:
        remedy = f"leitstand backup postgres verify {generation.id}"
        yield ProofFinding(generation.id, "it was never verified as a whole", remedy)


def _facts(generation: Generation, now: datetime) -> dict[str, Any]:
    finished = generation.finished_at
    return {
        **generation.as_dict(),
        "age": None if finished is None else round((now - finished).total_seconds(), 3),
    }


def _failed(
    generations: Sequence[Generation], stages: Sequence[StageEntry], history: Sequence[Drill]
) -> Iterator[ProofFinding]:
    """The directory tells of what is still there; of what never was, only the history does.

    So it does of a drill that left no trace beside its backup: one that this machine could not
    make, or of backups that only others may write to.
    """
    reasons = {drill.source: drill.detail for drill in reversed(history) if not drill.success}
    newest = {drill.source.partition("/")[0]: drill for drill in reversed(history)}
    for generation in generations:
        for stage in generation.stages:
            if stage.tried_at is not None and stage.tried_at != stage.drilled_at:
                source = source_of(generation, stage)
                detail = reasons.get(source, "leitstand drill history says why")
                yield ProofFinding(source, f"its last drill failed: {detail}", FULL_NOW)
        last = newest.get(generation.id)
        if last is not None and not last.success and not _has_trace(last, generation):
            yield ProofFinding(last.source, f"its last drill failed: {last.detail}", DRILL_NOW)
    if history and not history[0].success and not (stages and history[0].source):
        remedy = DRILL_NOW if stages else FULL_NOW
        yield ProofFinding("restore drill", f"the last one failed: {history[0].detail}", remedy)


def _has_trace(drill: Drill, generation: Generation) -> bool:
    """Whether the generation's own history has it, or a later one."""
    tries = (stage.tried_at for stage in generation.stages)
    return any(tried_at is not None and tried_at >= drill.timestamp for tried_at in tries)


def source_of(generation: Generation, stage: StageEntry) -> str:
    """How drills call the stage."""
    if stage is generation.full:
        return generation.id
    return f"{generation.id}/{stage.path.name}"


def _about_selftest(latest: Selftest | None, now: datetime) -> Iterator[ProofFinding]:
    remedy = "leitstand job run self-test"
    if latest is None:
        yield ProofFinding("self-test", "it never ran", remedy)
        return
    for planted in latest.missed:
        problem = f"planted damage was not found: {planted.sentence}"
        yield ProofFinding(latest.stage, problem, f"Report it with the seed {latest.seed}.")
    if in_future(latest.timestamp, now):
        problem = f"it is dated in the future ({latest.timestamp:%Y-%m-%d}), which proves nothing"
        yield ProofFinding("self-test", problem, remedy)
    if now - latest.timestamp > SELFTEST_AGE:
        yield ProofFinding("self-test", f"it last ran {latest.timestamp:%Y-%m-%d}", remedy)
