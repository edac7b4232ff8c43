"""An alert rule: which series of which metric should not be above or below what."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from leitstand.alerts.label_pairs import written_labels
from leitstand.errors import UsageError
from leitstand.execution import validation_sentence
from leitstand.jobs import Duration
from leitstand.notifications import shown_recipient

DEBOUNCE = 900.0
"""Seconds between two notifications of one series, unless the rule says otherwise."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


class AlertRuleError(UsageError):
    """A rule that cannot be."""

    code = "INVALID_ALERT"


class Comparison(StrEnum):
    """On which side of the threshold a value must not be; the threshold itself is well."""

    GT = "gt"
    LT = "lt"


def _as_text(value: object) -> object:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else value


class AlertSpec(BaseModel):
    """A rule as people write it: an ``[[alert]]`` table, or the API's body.

    Without a name it gets one from its metric, comparison, threshold and filters. A rule with
    ``absent`` fires when no series is there that passes the filters, and has no threshold.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9:._-]{0,99})?$")
    metric_name: str = Field(pattern=r"^[A-Za-z_:][A-Za-z0-9_:]*$", max_length=200)
    comparison: Comparison | None = None
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    clear_threshold: float | None = Field(default=None, allow_inf_nan=False)
    absent: bool = False
    label_filters: Annotated[dict[str, str], BeforeValidator(_as_text)] = Field(
        default_factory=dict
    )
    recipient: str = Field(min_length=1, max_length=500, pattern=r"\S")
    description: str = Field(default="", max_length=20_000)
    hold: Duration = Field(default=0.0, ge=0, alias="for")
    debounce: Duration = Field(default=DEBOUNCE, ge=0)
    repeat: Duration | None = Field(default=None, gt=0)
    group: str | None = Field(default=None, min_length=1, max_length=200)
    enabled: bool = True

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.absent:
            if self.comparison or self.threshold is not None or self.clear_threshold is not None:
                raise ValueError("a rule about absence has neither comparison nor threshold")
            return self
        if self.comparison is None or self.threshold is None:
            raise ValueError("it needs a comparison (gt or lt) and a threshold, or absent = true")
        if self.clear_threshold is not None and self._beyond(self.clear_threshold):
            raise ValueError("clear_threshold is on the side that fires")
        return self

    def _beyond(self, value: float) -> bool:
        assert self.threshold is not None  # noqa: S101 -- checked before
        over = self.comparison is Comparison.GT
        return value > self.threshold if over else value < self.threshold

    @property
    def full_name(self) -> str:
        """The name, or the one that is made of what the rule says."""
        if self.name:
            return self.name
        what = ("absent",) if self.absent else (str(self.comparison), f"{self.threshold:g}")
        filters = [f"{name}-{value}" for name, value in sorted(self.label_filters.items())]
        made = "-".join([self.metric_name, *what, *filters])
        return _NOT_IN_NAMES.sub("-", made)[:100].lstrip("._-")


@dataclass(frozen=True)
class AlertRule:
    """A rule as it is stored."""

    id: int
    spec: AlertSpec
    managed: bool = False

    @property
    def name(self) -> str:
        """What people call it."""
        return self.spec.full_name

    @property
    def condition(self) -> str:
        """What it fires on, in short."""
        spec = self.spec
        filters = f"{{{written_labels(spec.label_filters)}}}" if spec.label_filters else ""
        metric = spec.metric_name + filters
        if spec.absent:
            return f"{metric} is absent"
        return f"{metric} {'>' if spec.comparison is Comparison.GT else '<'} {spec.threshold:g}"

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a series passes the filters; values are compared unescaped."""
        return all(labels.get(name) == value for name, value in self.spec.label_filters.items())

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``alert_rules``."""
        spec = AlertSpec(
            name=row["name"],
            metric_name=row["metric_name"],
            comparison=row["comparison"],
            threshold=row["threshold"],
            clear_threshold=row["clear_threshold"],
            absent=row["absent"],
            label_filters=row["label_filters"],
            recipient=row["recipient"],
            description=row["description"],
            hold=row["hold_seconds"],
            debounce=row["debounce_seconds"],
            repeat=row["repeat_seconds"],
            group=row["group_key"],
            enabled=row["enabled"],
        )
        return cls(row["id"], spec, row["managed"])

    def as_dict(self) -> dict[str, Any]:
        """The rule's JSON shape; durations are seconds, of a URL the scheme alone is shown."""
        spec = self.spec
        return {
            "id": self.id,
            "name": self.name,
            "metric_name": spec.metric_name,
            "comparison": spec.comparison,
            "threshold": spec.threshold,
            "clear_threshold": spec.clear_threshold,
            "absent": spec.absent,
            "label_filters": dict(spec.label_filters),
            "recipient": shown_recipient(spec.recipient),
            "description": spec.description,
            "for": spec.hold,
            "debounce": spec.debounce,
            "repeat": spec.repeat,
            "group": spec.group,
            "enabled": spec.enabled,
            "managed": self.managed,
        }


def parse_rule(document: Mapping[str, Any]) -> AlertSpec:
    """The rule that ``document`` (an ``[[alert]]`` table) describes.

    Raises AlertRuleError (``INVALID_ALERT``) with a sentence for each key that is wrong.
    """
    try:
        return AlertSpec.model_validate(dict(document))
    except ValidationError as error:
        problems = validation_sentence(error).replace("Value error, ", "")
        raise AlertRuleError(
            f"the alert rule cannot be: {problems}",
            remedy="It needs a metric_name, a comparison (gt or lt) with a threshold, and a "
            "recipient; docs/alerts.md explains every field.",
        ) from None
