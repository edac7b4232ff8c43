"""The examples of docs/windows.md are windows, and its table of clock changes is right."""

import re
import tomllib
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leitstand.jobs import parse_window

PAGE = (Path(__file__).parents[2] / "docs/windows.md").read_text()
ROWS = re.findall(r"^\| (\d\d:\d\d) to (\d\d:\d\d) on (\S+) \| (.+) \|$", PAGE, re.MULTILINE)


def test_the_example_is_understood() -> None:
    block = PAGE.split("```toml\n")[1].split("```")[0]
    names = [parse_window(entry).name for entry in tomllib.loads(block)["window"]]
    assert names == ["patch-night", "year-end-freeze"]


@pytest.mark.parametrize(("begin", "end", "day", "told"), ROWS)
def test_the_table_of_clock_changes(begin: str, end: str, day: str, told: str) -> None:
    written = {"name": "w", "from": begin, "to": end, "timezone": "Europe/Berlin"}
    opening = parse_window(written).window().opening
    expected = [
        datetime.fromisoformat(f"{day}T{moment}")
        for moment in re.findall(r"\d\d:\d\d\+\d\d:\d\d", told)
    ]
    t = datetime.fromisoformat(f"{day}T00:00+00:00") - timedelta(hours=2)
    changes: list[datetime] = []
    while len(changes) < len(expected):
        change = opening.next_change(t)
        assert change is not None
        changes.append(t := change)
    assert changes == expected


def test_the_table_was_found() -> None:
    assert len(ROWS) == 3
