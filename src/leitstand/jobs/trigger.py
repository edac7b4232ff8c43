"""What starts a job: a schedule, an event, or somebody's request."""

from dataclasses import dataclass
from enum import StrEnum

from leitstand.errors import UsageError


class ScheduleError(UsageError):
    """A trigger that no schedule can be made of."""

    code = "INVALID_SCHEDULE"


class TriggerType(StrEnum):
    """The ways in which a job can be started."""

    CRON = "cron"
    """At the times that a cron expression names."""
    EVERY = "every"
    """At a fixed interval of elapsed time."""
    AT = "at"
    """Once."""
    MANUAL = "manual"
    EVENT = "event"


@dataclass(frozen=True)
class Trigger:
    """What starts a job; ``expression`` is empty and ``event`` None where they mean nothing.

    ``timezone`` is an IANA name; ``every`` and an ``at`` with an offset do not depend on it.
    """

    type: TriggerType
    expression: str
    timezone: str
    event: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """The trigger's JSON shape."""
        return {
            "type": self.type.value,
            "expression": self.expression or None,
            "timezone": self.timezone,
            "event": self.event,
        }
