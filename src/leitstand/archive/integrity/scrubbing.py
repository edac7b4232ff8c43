"""What a scrub found."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.scrub_ledger import Seen
from leitstand.archive.integrity.storage_key import key_text


@dataclass(frozen=True)
class ScrubFinding:
    """An object whose content is not what the database says; ``error`` if it cannot be read."""

    revision: Revision
    actual: str | None
    error: str | None

    def as_dict(self) -> dict[str, Any]:
        """As the report shows it."""
        return {
            **self.revision.as_dict(),
            "expected_checksum": self.revision.checksum,
            "actual_checksum": self.actual,
            "error": self.error,
        }

    def __str__(self) -> str:
        row = self.revision
        where = f"{key_text(row.storage_key)} of document {row.document_id}"
        what = self.error or f"SHA-256 is {self.actual}, the database says {row.checksum}"
        return f"{where}, revision {row.revision_id}: {what}"


@dataclass(frozen=True)
class Coverage:
    """How much of a store has been read, and how lately."""

    total: int
    uncheckable: int
    within: timedelta
    seen: Seen
    now: datetime

    @property
    def percent(self) -> float | None:
        """Per cent of the objects that were read within the time; None if there are none."""
        return round(100 * self.seen.recently / self.total, 2) if self.total else None

    @property
    def never(self) -> int:
        """Objects that were never read."""
        return max(0, self.total - self.seen.ever)

    @property
    def oldest(self) -> timedelta | None:
        """The age of the check that is the longest ago."""
        return None if self.seen.oldest is None else self.now - self.seen.oldest

    def as_dict(self) -> dict[str, Any]:
        """As the report shows it."""
        return {
            "total": self.total,
            "checked": self.seen.recently,
            "within_days": self.within / timedelta(days=1),
            "percent": self.percent,
            "never": self.never,
            "oldest_days": None if self.oldest is None else self.oldest / timedelta(days=1),
            "uncheckable": self.uncheckable,
        }

    def __str__(self) -> str:
        if not self.total:
            return "there are no objects to check"
        days = self.within / timedelta(days=1)
        text = f"{self.percent:g} % checked in the last {days:g} days, {self.never} never"
        if self.oldest is not None:
            text += f", oldest {self.oldest / timedelta(days=1):.1f} days"
        return text


@dataclass
class Scrubbing:
    """The result of one run.

    ``sampled`` counts objects that were read; ``missing`` those that were not there, which is for
    reconcile to report; ``skipped`` those whose row has gone meanwhile.
    """

    store: str
    sampled: int = 0
    bytes_read: int = 0
    missing: int = 0
    skipped: int = 0
    duration: float = 0.0
    generated_at: datetime | None = None
    findings: list[ScrubFinding] = field(default_factory=list)
    coverage: Coverage | None = None

    @property
    def is_clean(self) -> bool:
        """Whether everything that was read is right."""
        return not self.findings

    def summary(self) -> dict[str, Any]:
        """The facts without the findings: what a run's result and the history hold."""
        return {
            "store": self.store,
            "sampled": self.sampled,
            "failed": len(self.findings),
            "missing": self.missing,
            "skipped": self.skipped,
            "bytes": self.bytes_read,
            "duration": round(self.duration, 3),
            "coverage": self.coverage.as_dict() if self.coverage else None,
        }

    def as_dict(self) -> dict[str, Any]:
        """The report."""
        findings = [finding.as_dict() for finding in self.findings]
        return {"generated_at": self.generated_at, "findings": findings, **self.summary()}
