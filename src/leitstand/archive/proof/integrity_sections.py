"""The sections of the proof that speak of stored objects: do they match their rows, are they right?

Nothing is read anew: they tell what the last reconciliation and all scrubs have found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from leitstand.archive.age import in_future
from leitstand.archive.integrity.report_ledger import (
    RECONCILE,
    SCRUB,
    IntegrityReport,
    ReportLedger,
)
from leitstand.archive.integrity.scrub_ledger import FailedObjects, ScrubLedger
from leitstand.archive.integrity.storage_key import key_fields, key_text
from leitstand.archive.proof.report import ProofFinding, SectionReport
from leitstand.display import rfc3339
from leitstand.store.database import Database

OVERDUE = timedelta(days=8)
"""Weekly, and a day of patience."""
SHOWN = 100
"""Objects that are named one by one."""
NOT_CONFIGURED = "no store of objects is configured"

RECONCILE_NOW, SCRUB_NOW = "leitstand reconcile", "leitstand scrub"
RESTORE = "Restore it from a backup, and look at the disk that it was on."


@dataclass(frozen=True)
class ReconcileSection:
    """Whether rows and objects matched when they were last compared; no ``store``: no objects."""

    control: Database
    store: str
    name: ClassVar[str] = "reconcile"
    title: ClassVar[str] = "Objects against rows"

    async def report(self, now: datetime) -> SectionReport:
        """Each object that is missing or orphaned is a finding, and that nobody looked lately."""
        if not self.store:
            return SectionReport(self.name, self.title, {"latest": None}, summary=NOT_CONFIGURED)
        latest = await _latest(self.control, RECONCILE, self.store)
        found = (*_overdue(latest, now, self.store, RECONCILE_NOW), *_differences(latest))
        facts = {"store": self.store, "latest": _document(latest)}
        return SectionReport(self.name, self.title, facts, found, _compared(latest))


@dataclass(frozen=True)
class ScrubSection:
    """How much of the content was read lately, and what was wrong at its last reading."""

    control: Database
    store: str
    name: ClassVar[str] = "scrub"
    title: ClassVar[str] = "Content of objects"

    async def report(self, now: datetime) -> SectionReport:
        """An object is a finding until a later reading finds it right again."""
        if not self.store:
            return SectionReport(self.name, self.title, {"latest": None}, summary=NOT_CONFIGURED)
        latest = await _latest(self.control, SCRUB, self.store)
        failed = FailedObjects()
        if latest is not None:
            failed = await (await ScrubLedger.of(self.control, self.store)).failed(SHOWN)
        found = (*_overdue(latest, now, self.store, SCRUB_NOW), *_wrong(failed))
        facts = {
            "store": self.store,
            "latest": _document(latest),
            "failed": [key_fields(key) for key in failed.first],
            "failed_count": failed.count,
        }
        return SectionReport(self.name, self.title, facts, found, _covered(latest))


async def _latest(control: Database, kind: str, store: str) -> IntegrityReport | None:
    reports = await ReportLedger(control).latest(kind)
    return next((report for report in reports if report.store == store), None)


def _overdue(
    latest: IntegrityReport | None, now: datetime, store: str, remedy: str
) -> Iterator[ProofFinding]:
    if latest is None:
        yield ProofFinding(store, "nobody has ever looked", remedy)
    elif in_future(latest.finished_at, now):
        problem = f"it is dated in the future ({latest.finished_at:%Y-%m-%d}), which proves nothing"
        yield ProofFinding(store, problem, remedy)
    elif now - latest.finished_at > OVERDUE:
        yield ProofFinding(store, f"it was last done on {latest.finished_at:%Y-%m-%d}", remedy)


def _differences(latest: IntegrityReport | None) -> Iterator[ProofFinding]:
    if latest is None:
        return
    first, counts = latest.facts.get("first", {}), latest.facts["counts"]
    for sort, problem in (
        ("missing_in_storage", "a row names it, and it is not there"),
        ("orphaned_in_storage", "it is there, and no row names it"),
    ):
        named = [entry["storage_key"] for entry in first.get(sort, ())]
        yield from (ProofFinding(key, problem, RECONCILE_NOW) for key in named)
        yield from _others(counts[sort] - len(named), problem, RECONCILE_NOW)
    if latest.incomplete:
        yield ProofFinding(latest.store, "part of it could not be seen", RECONCILE_NOW)


def _wrong(failed: FailedObjects) -> Iterator[ProofFinding]:
    for key, checked_at in failed.first.items():
        problem = f"wrong or unreadable when it was read on {checked_at:%Y-%m-%d %H:%M} UTC"
        yield ProofFinding(key_text(key), problem, RESTORE)
    yield from _others(failed.count - len(failed.first), "wrong or unreadable", RESTORE)


def _others(count: int, problem: str, remedy: str) -> Iterator[ProofFinding]:
    if count > 0:
        yield ProofFinding(f"{count} more", problem, remedy)


def _document(latest: IntegrityReport | None) -> dict[str, Any] | None:
    if latest is None:
        return None
    return {**latest.facts, "finished_at": rfc3339(latest.finished_at)}


def _compared(latest: IntegrityReport | None) -> str:
    if latest is None:
        return ""
    return f"{latest.facts['counts']['existing_in_storage']} objects with rows"


def _covered(latest: IntegrityReport | None) -> str:
    coverage = latest.facts["coverage"] if latest is not None else None
    if coverage is None or coverage["percent"] is None:
        return ""
    oldest = coverage["oldest_days"]
    text = f"{coverage['percent']:g} % read in the last {coverage['within_days']:g} days,"
    text += f" {coverage['never']} never"
    return text if oldest is None else f"{text}, oldest {oldest:.1f} days"
