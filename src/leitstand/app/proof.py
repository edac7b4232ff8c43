"""Puts the report of what is proven together: which sections it has, on which installation."""

import socket
from datetime import UTC, datetime
from typing import Any

from leitstand import __version__
from leitstand.app.control import Control
from leitstand.archive import (
    BackupsSection,
    DrillsSection,
    ObjectivesSection,
    ProofReport,
    RetentionSection,
    Section,
    SelftestSection,
    examine_sections,
    sealed,
)


async def prove(control: Control) -> tuple[ProofReport, dict[str, Any]]:
    """The report, and its document, sealed with ``proof.key`` if there is one."""
    now = datetime.now(UTC)
    sections = await examine_sections(proof_sections(control), now)
    report = ProofReport(now, socket.gethostname(), __version__, sections)
    key = control.settings.proof.key.get_secret_value()
    return report, sealed(report.as_dict(), key)


def proof_sections(control: Control) -> list[Section]:
    """The chain of evidence, in the order in which one link builds on the other."""
    archive, drills = control.archive, control.drills
    return [
        BackupsSection(archive),
        DrillsSection(archive, drills),
        ObjectivesSection(archive, drills),
        RetentionSection(archive),
        SelftestSection(control.selftests),
    ]
