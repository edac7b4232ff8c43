"""Every example in docs/schedules.md is what the code does."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from leitstand.jobs.cron import NAMED
from leitstand.jobs.misfire import Misfire
from leitstand.jobs.schedule import SHORTEST_INTERVAL
from leitstand.jobs.trigger import ScheduleError
from tests.jobs.schedules import cron, local, next_times, shown

PAGE = Path(__file__).parents[2] / "docs/schedules.md"


def table(heading: str) -> Iterator[list[str]]:
    """The rows of the table whose first line begins with ``heading``."""
    lines = iter(PAGE.read_text().splitlines())
    for line in lines:
        if line.startswith(heading):
            break
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]


MEANINGS = list(table("| expression | times after"))
CHANGES = list(table("| zone | expression"))


def test_the_page_covers_the_zones_of_the_specification() -> None:
    assert {row[0] for row in CHANGES} >= {
        *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"),
    }
    assert len(CHANGES) == 18
    assert len(MEANINGS) == 10


@pytest.mark.parametrize(("expression", "times"), MEANINGS)
def test_what_expressions_mean(expression: str, times: str) -> None:
    if times == "refused":
        with pytest.raises(ScheduleError):
            cron(expression)
        return
    expected = times.split(", ")
    found = next_times(cron(expression), local("2026-06-10 12:00", "UTC"), len(expected))
    assert [f"{moment:%Y-%m-%d %H:%M}" for moment in found] == expected


@pytest.mark.parametrize(("zone", "expression", "asked", "times"), CHANGES)
def test_what_changes_of_the_clocks_do(zone: str, expression: str, asked: str, times: str) -> None:
    expected = times.split(", ")
    found = next_times(cron(expression, zone), datetime.fromisoformat(asked), len(expected))
    assert shown(found, zone) == expected


def test_names_policies_and_limits_are_those_of_the_code() -> None:
    text = PAGE.read_text()
    assert all(f"`{name}`" in text for name in NAMED)
    assert [row[0].split("`")[0] for row in table("| `misfire`")] == [m.value for m in Misfire]
    assert f"shortest interval is {SHORTEST_INTERVAL:g} s" in text
