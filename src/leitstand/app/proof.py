"""Puts the report of what is proven together: which sections it has, on which installation."""

import socket
from datetime import UTC, datetime
from typing import Any

from leitstand import __version__
from leitstand.app.control import Control
from leitstand.app.integrity_wiring import (
    demonstration_settings,
    integrity_settings,
    looks_at_demonstration,
)
from leitstand.archive import (
    BackupsSection,
    DrillsSection,
    IntegritySettings,
    ObjectivesSection,
    ProofReport,
    ReconcileSection,
    RetentionSection,
    ScrubSection,
    Section,
    SelftestSection,
    SnapshotsSection,
    examine_sections,
    sealed,
)


async def prove(control: Control, *, demo: bool = False) -> tuple[ProofReport, dict[str, Any]]:
    """The report, and its document, sealed with ``proof.key`` if there is one.

    With ``demo`` it is about the demonstration alone.
    """
    now = datetime.now(UTC)
    chosen = demonstration_sections(control) if demo else proof_sections(control)
    sections = await examine_sections(chosen, now)
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
        SnapshotsSection(control.objects),
        *integrity_sections(control),
    ]


def integrity_sections(control: Control) -> list[Section]:
    """What is known of the objects that reconcile and scrub look at."""
    return _integrity_sections(control, _store_of(control))


def demonstration_sections(control: Control) -> list[Section]:
    """The links of the chain that the demonstration has."""
    return _integrity_sections(control, demonstration_settings(control.settings))


def _store_of(control: Control) -> IntegritySettings | None:
    """The objects that are looked at, as by reconcile and scrub; None where there are none."""
    settings = control.settings
    if looks_at_demonstration(settings):
        return demonstration_settings(settings)
    return integrity_settings(settings) if settings.objects.store.get_secret_value() else None


def _integrity_sections(control: Control, integrity: IntegritySettings | None) -> list[Section]:
    store = "" if integrity is None else integrity.open_store().name
    return [ReconcileSection(control.database, store), ScrubSection(control.database, store)]
