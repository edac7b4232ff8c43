"""What a reconciliation found."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.archive.integrity.finding_list import FindingList
from leitstand.archive.integrity.storage_key import key_text
from leitstand.archive.integrity.store import ListingNotes


@dataclass(frozen=True)
class Reconciliation:
    """The result of one run; ``unknown`` counts rows whose objects could not be looked for."""

    generated_at: datetime
    store: str
    duration: float
    missing: FindingList
    orphaned: FindingList
    existing: FindingList
    unknown: int
    notes: ListingNotes

    @property
    def is_clean(self) -> bool:
        """Whether nothing is missing and nothing orphaned, as far as could be seen."""
        return self.missing.count == 0 and self.orphaned.count == 0

    @property
    def is_incomplete(self) -> bool:
        """Whether part of the store could not be seen."""
        return bool(self.notes.gaps) or self.unknown > 0

    @property
    def counts(self) -> dict[str, int]:
        """How many of each there are."""
        return {
            "missing_in_storage": self.missing.count,
            "orphaned_in_storage": self.orphaned.count,
            "existing_in_storage": self.existing.count,
            "unknown": self.unknown,
            "collisions": self.notes.collision_count,
            "irregular": self.notes.irregular_count,
        }

    def summary(self) -> dict[str, Any]:
        """The facts without the lists: what a run's result and the history hold."""
        return {
            "store": self.store,
            "counts": self.counts,
            "clean": self.is_clean,
            "incomplete": self.is_incomplete,
            "duration": round(self.duration, 3),
            "files": {
                each.name: str(each.file)
                for each in (self.missing, self.orphaned, self.existing)
                if each.file is not None
            },
            **self.notes.as_dict(),
        }

    def as_dict(self) -> dict[str, Any]:
        """The report; a list that has a file holds only its first entries here."""
        lists = {
            each.name: [revision.as_dict() for revision in each.first]
            for each in (self.missing, self.orphaned, self.existing)
        }
        return {"generated_at": self.generated_at, **lists, **self.summary()}

    def first_findings(self, most: int) -> list[str]:
        """A sentence for each of the first findings."""
        missing = [
            f"missing: {key_text(row.storage_key)} of document {row.document_id},"
            f" revision {row.revision_id}"
            for row in self.missing.first[:most]
        ]
        orphaned = [f"orphaned: {key_text(row.storage_key)}" for row in self.orphaned.first[:most]]
        return (missing + orphaned)[:most]
