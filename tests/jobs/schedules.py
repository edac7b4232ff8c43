"""Makes schedules and moments for tests in few words."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from leitstand.jobs.schedule import Schedule, build_schedule
from leitstand.jobs.trigger import Trigger, TriggerType

START = datetime(2024, 1, 1, tzinfo=UTC)


def cron(expression: str, zone: str = "UTC", anchor: datetime = START) -> Schedule:
    """The schedule of a cron expression."""
    return build_schedule(Trigger(TriggerType.CRON, expression, zone), anchor)


def every(expression: str, anchor: datetime = START) -> Schedule:
    """The schedule of an interval."""
    return build_schedule(Trigger(TriggerType.EVERY, expression, "UTC"), anchor)


def at(expression: str, zone: str = "UTC") -> Schedule:
    """The schedule of a single time."""
    return build_schedule(Trigger(TriggerType.AT, expression, zone), START)


def local(text: str, zone: str, fold: int = 0) -> datetime:
    """The moment, in UTC, at which clocks of ``zone`` show ``text``."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


def next_times(schedule: Schedule, after: datetime, count: int) -> list[datetime]:
    """The first ``count`` slots later than ``after``."""
    found: list[datetime] = []
    while len(found) < count:
        slot = schedule.next_after(found[-1] if found else after)
        if slot is None:
            break
        found.append(slot)
    return found


def shown(moments: list[datetime], zone: str) -> list[str]:
    """The moments as the clocks of ``zone`` show them, with the offset."""
    return [f"{m.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M%z}" for m in moments]
