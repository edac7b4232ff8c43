"""Cron expressions for tests: a fixed sequence, dense around the hours in which clocks change."""

from random import Random

MINUTES = (
    "0",
    "30",
    "15",
    "45",
    "*",
    "*/5",
    "*/15",
    "*/30",
    "5,35",
    "10-50/20",
    "59",
    "0-10",
    "7/9",
)
HOURS = (
    "2",
    "1",
    "0",
    "3",
    "23",
    "2,3",
    "0-3",
    "1-23/2",
    "22-23",
    "0,12",
    "*",
    "*/2",
    "0-23",
    "*/6",
)
DAYS = ("*", "*", "*", "*", "1", "15", "29", "31", "1-7", "*/2", "25-31", "10,20,30")
MONTHS = ("*", "*", "*", "*", "3", "10", "1-6", "*/2", "3,4,9,10,11")
WEEKDAYS = ("*", "*", "*", "*", "0", "7", "6,0", "1-5", "*/2", "5")


def cron_samples(count: int, seed: int = 1) -> list[str]:
    """That many different expressions; the same ones for the same seed."""
    random = Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        fields = (random.choice(values) for values in (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS))
        found[" ".join(fields)] = None
    return list(found)
