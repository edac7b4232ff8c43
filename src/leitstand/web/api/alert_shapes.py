"""The shapes of alerts, their rules and silences, for the API's description."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

Labels = dict[str, str]


class AlertShape(BaseModel):
    """An alert: one series of one rule; ``value`` is that of the last change."""

    id: int
    rule_id: int
    rule: str
    labels: Labels
    state: str = Field(description="pending, firing or resolved")
    value: float | None
    since: datetime
    told_at: datetime | None
    missing_since: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None


class AlertRuleShape(BaseModel):
    """An alert rule; ``for``, ``debounce`` and ``repeat`` are seconds."""

    id: int
    name: str
    metric_name: str
    comparison: str | None
    threshold: float | None
    clear_threshold: float | None
    absent: bool
    label_filters: Labels
    recipient: str
    description: str
    hold: float = Field(alias="for")
    debounce: float
    repeat: float | None
    group: str | None
    enabled: bool
    managed: bool = Field(description="A file was the last to write it.")


class VerdictShape(BaseModel):
    """What a rule says of a series, and whether and why nobody would be told."""

    rule_id: int
    rule: str
    metric_name: str
    value: float | None
    threshold: float | None
    labels: Labels
    state: str
    suppressed: bool
    reason: str


class PreviewShape(BaseModel):
    """What a rule would say now; ``items`` are the first 500 of ``total``."""

    series: int | None = Field(
        description="How many series pass the filters; null if the metric is not there."
    )
    total: int
    items: list[VerdictShape]


class SilenceShape(BaseModel):
    """A silence: of the alerts of a rule, of series with these labels, or both."""

    id: int
    rule: str | None
    matchers: Labels
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str
    weekly: dict[str, Any] | None = Field(description="The times of the week at which it holds.")
