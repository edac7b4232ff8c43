"""The report of what is proven: a list of sections, each with facts and what was found wrong.

A section speaks for one thing: backups, drills, retention. Whoever keeps something else adds a
section of its own to the list; the report knows none of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Protocol

import psycopg
import structlog

from leitstand.display import rfc3339
from leitstand.errors import LeitstandError

FORMAT = 1

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ProofFinding:
    """What is not proven, or proven wrong; ``remedy`` is what to do, None where that is plain."""

    subject: str
    problem: str
    remedy: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The finding's JSON shape."""
        return dict(vars(self))


@dataclass(frozen=True)
class SectionReport:
    """What a section says: ``facts`` are plain JSON values, with times as text.

    ``summary`` is what people are told of the facts, in half a sentence; it may be empty.
    """

    name: str
    title: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[ProofFinding, ...] = ()
    summary: str = ""

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """The section's JSON shape."""
        return {
            "name": self.name,
            "title": self.title,
            "clean": self.clean,
            "summary": self.summary,
            "facts": dict(self.facts),
            "findings": [finding.as_dict() for finding in self.findings],
        }


class Section(Protocol):
    """One link of the chain. ``name`` is for programs, ``title`` for people."""

    name: ClassVar[str]
    title: ClassVar[str]

    async def report(self, now: datetime) -> SectionReport:
        """What is the case; what cannot be found out may be raised as a LeitstandError."""


@dataclass(frozen=True)
class ProofReport:
    """All sections as of one moment, and of which installation they speak."""

    generated_at: datetime
    host: str
    version: str
    sections: tuple[SectionReport, ...]

    @property
    def clean(self) -> bool:
        """Every section is."""
        return all(section.clean for section in self.sections)

    def as_dict(self) -> dict[str, Any]:
        """The report's JSON shape, before it is sealed."""
        return {
            "format": FORMAT,
            "generated_at": rfc3339(self.generated_at),
            "host": self.host,
            "version": self.version,
            "clean": self.clean,
            "sections": [section.as_dict() for section in self.sections],
        }


async def examine_sections(sections: Iterable[Section], now: datetime) -> tuple[SectionReport, ...]:
    """What all ``sections`` say; one that cannot is a finding, and costs no other."""
    return tuple([await _examined(section, now) for section in sections])


async def _examined(section: Section, now: datetime) -> SectionReport:
    try:
        return await section.report(now)
    except LeitstandError as error:
        problem = ": ".join(filter(None, (error.message, error.detail)))
        finding = ProofFinding(section.title, f"it cannot be examined: {problem}", error.remedy)
    except (psycopg.Error, OSError) as error:
        log.warning("a section of the proof failed", section=section.name, error=str(error).strip())
        finding = ProofFinding(section.title, f"it cannot be examined: {str(error).strip()}")
    return SectionReport(section.name, section.title, findings=(finding,))
