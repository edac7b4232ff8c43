"""Detectors: applications without events of their own are watched by their log tables."""

from leitstand.events.detection.detection import Detection, SourceReport, look_at
from leitstand.events.detection.detection_metrics import DetectionMetrics
from leitstand.events.detection.kind import DetectLogEvents
from leitstand.events.detection.ledger import DetectionLedger
from leitstand.events.detection.log_table import Columns, Detector, LogTable
from leitstand.events.detection.own_events import own_entries
from leitstand.events.detection.source_status import DetectorStatus, Reset, SourceStatus
from leitstand.events.detection.webtrees_profile import webtrees

__all__ = [
    "Columns",
    "DetectLogEvents",
    "Detection",
    "DetectionLedger",
    "DetectionMetrics",
    "Detector",
    "DetectorStatus",
    "LogTable",
    "Reset",
    "SourceReport",
    "SourceStatus",
    "look_at",
    "own_entries",
    "webtrees",
]
