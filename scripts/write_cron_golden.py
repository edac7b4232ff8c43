"""Writes the golden file: 500 cron expressions, each with the next five times the code computes.

Run it as ``python -m scripts.write_cron_golden`` after a change of cronsim or of the rules, and
read the difference line by line: each line that changed is a job that will run at another time.
"""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from leitstand.jobs.cron import NAMED
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.trigger import Trigger, TriggerType
from tests.jobs.cron_samples import cron_samples

GOLDEN_FILE = Path(__file__).parent.parent / "tests/jobs/golden/cron.txt"

TITLE = (
    "# zone; asked at; expression; the next five times. Written by scripts/write_cron_golden.py\n"
)

STARTS = (
    ("UTC", "2024-02-28T23:59:30"),
    ("Europe/Berlin", "2023-03-25T23:30:00"),
    ("Europe/Berlin", "2023-10-28T23:30:00"),
    ("America/New_York", "2023-03-11T23:30:00"),
    ("America/New_York", "2023-11-04T23:30:00"),
    ("Australia/Lord_Howe", "2023-09-30T23:30:00"),
    ("Australia/Lord_Howe", "2023-04-01T23:30:00"),
    ("America/Santiago", "2023-09-02T22:30:00"),
    ("America/Santiago", "2023-04-01T22:30:00"),
    ("Pacific/Apia", "2011-12-29T22:30:00"),
)
"""Where the questions are asked: shortly before changes of the clocks, and a 29 February."""

SETTLED = "2025"

SPECIAL = (
    *NAMED,
    *("0 0 29 2 *", "0 0 L * *", "0 0 LW * *", "0 0 * * 5L", "0 0 * * MON#2", "0 0 31 * *"),
    *("0 0 13 * 5", "0 0 */13 * 5", "0 0 13 * */5", "0 0 * FEB,OCT SUN", "0 9 1-7 * MON"),
)
"""Expressions with something in them that the samples do not have."""


def expressions() -> list[str]:
    """The 500 expressions."""
    return [*SPECIAL, *cron_samples(500 - len(SPECIAL), seed=39)]


def golden_line(expression: str, zone: str, start: str) -> str:
    """One line: five times as the clocks of the zone show them, with their offsets.

    In UTC instead, when they reach into years whose clock changes may still be altered.
    """
    clocks = ZoneInfo(zone)
    asked = datetime.fromisoformat(start).replace(tzinfo=clocks)
    schedule = build_schedule(Trigger(TriggerType.CRON, expression, zone), asked)
    times: list[str] = []
    moment: datetime | None = asked.astimezone(UTC)
    while len(times) < 5 and moment and (moment := schedule.next_after(moment)):
        times.append(f"{moment.astimezone(clocks):%Y-%m-%dT%H:%M%z}")
    if zone != "UTC" and times[-1] > SETTLED:
        return golden_line(expression, *STARTS[0])
    return f"{zone}; {start}; {expression}; {' '.join(times)}\n"


def golden_text() -> str:
    """The whole file as the code would write it now."""
    lines = [
        golden_line(expression, *STARTS[number % len(STARTS)])
        for number, expression in enumerate(expressions())
    ]
    return TITLE + "".join(lines)


def main() -> None:
    """Write the file."""
    GOLDEN_FILE.parent.mkdir(exist_ok=True)
    GOLDEN_FILE.write_text(golden_text())


if __name__ == "__main__":
    main()
