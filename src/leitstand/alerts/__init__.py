"""Alerts: rules over metrics, and what becomes of the series that violate them."""

from leitstand.alerts.alert import Alert, AlertFilter, AlertState, Phase
from leitstand.alerts.alert_events import alert_entries
from leitstand.alerts.alert_ledger import AlertLedger
from leitstand.alerts.alert_metrics import AlertMetrics
from leitstand.alerts.downtimes import NoPlaceDowntimes, Place, PlaceDowntimes
from leitstand.alerts.evaluate_alerts import AlertsOffError, EvaluateAlerts, EvaluateAlertsParams
from leitstand.alerts.evaluator import Audience, Evaluator
from leitstand.alerts.exposition import parse_page
from leitstand.alerts.label_pairs import read_labels, written_labels
from leitstand.alerts.metric_page import MetricPage, Series, page_of
from leitstand.alerts.rule import AlertRule, AlertRuleError, AlertSpec, parse_rule
from leitstand.alerts.rule_ledger import RuleLedger
from leitstand.alerts.silence import Silence, SilenceSpec, parse_weekly
from leitstand.alerts.silence_ledger import SilenceLedger, check_silence
from leitstand.alerts.verdict import Evaluation, Verdict

__all__ = [
    "Alert",
    "AlertFilter",
    "AlertLedger",
    "AlertMetrics",
    "AlertRule",
    "AlertRuleError",
    "AlertSpec",
    "AlertState",
    "AlertsOffError",
    "Audience",
    "EvaluateAlerts",
    "EvaluateAlertsParams",
    "Evaluation",
    "Evaluator",
    "MetricPage",
    "NoPlaceDowntimes",
    "Phase",
    "Place",
    "PlaceDowntimes",
    "RuleLedger",
    "Series",
    "Silence",
    "SilenceLedger",
    "SilenceSpec",
    "Verdict",
    "alert_entries",
    "check_silence",
    "page_of",
    "parse_page",
    "parse_rule",
    "parse_weekly",
    "read_labels",
    "written_labels",
]
