"""What people and scripts are shown: tables, texts, JSON documents, progress."""

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from uuid import UUID

import pytest

from leitstand.cli.output import Output, details
from leitstand.cli.progress_bar import progress_bar
from leitstand.cli.table import Table, draw, plain_text, printable
from leitstand.json_document import to_json


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Thing:
    name: str
    when: datetime


def test_json_has_the_shapes_of_the_contract() -> None:
    berlin = timezone(timedelta(hours=1))
    document = {
        "thing": Thing("x", datetime(2026, 3, 29, 2, 30, tzinfo=berlin)),
        "duration": timedelta(minutes=1.5),
        "odd": [float("nan"), float("inf"), 1.5, Decimal("2.5"), None, True, 3],
        "text": (Colour.RED, Path("/a"), UUID(int=1), "ü", "\udcff"),
        Colour.RED: {1},
    }
    assert json.loads(to_json(document)) == {
        "thing": {"name": "x", "when": "2026-03-29T01:30:00.000000Z"},
        "duration": 90.0,
        "odd": [None, None, 1.5, 2.5, None, True, 3],
        "text": ["red", "/a", "00000000-0000-0000-0000-000000000001", "ü", "\\udcff"],
        "red": [1],
    }


def test_json_refuses_what_nobody_could_understand() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_json(datetime(2026, 1, 1))  # noqa: DTZ001  # that is the point
    with pytest.raises(TypeError, match="bytes has no JSON form"):
        to_json(b"x")
    assert json.loads(to_json(datetime(2026, 1, 1, tzinfo=UTC))) == "2026-01-01T00:00:00.000000Z"


TABLE = Table(("job", "size"), [("nightly", 5), ("x" * 200, None)], right=frozenset({"size"}))


def test_a_plain_table_is_aligned_and_cuts_nothing() -> None:
    head, first, second = plain_text(TABLE).split("\n")
    assert head == "JOB" + " " * 199 + "SIZE"
    assert first == "nightly" + " " * 198 + "5"
    assert second == "x" * 200 + " " * 5 + "–"


def test_a_table_without_rows_says_so() -> None:
    empty = Table(("a",), [], empty="No jobs yet.")
    drawn = io.StringIO()
    draw(empty, drawn)
    assert drawn.getvalue().strip() == plain_text(empty) == "No jobs yet."


def test_a_drawn_table_folds_long_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    drawn = io.StringIO()
    draw(TABLE, drawn)
    assert drawn.getvalue().count("x") == 200
    assert max(map(len, drawn.getvalue().splitlines())) <= 60


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False)])
def test_states_are_coloured_unless_no_color_is_set(
    monkeypatch: pytest.MonkeyPatch, no_color: str | None, coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    terminal = Terminal()
    draw(Table(("status",), [("failed",)]), terminal)
    assert ("\x1b[1;31m" in terminal.getvalue()) is coloured


def test_control_characters_of_others_do_not_reach_a_terminal() -> None:
    assert printable("a\x1b[31mb\nc\u202ed") == r"a\x1b[31mb\nc\u202ed"


def test_markup_of_others_is_text() -> None:
    drawn = io.StringIO()
    draw(Table(("a",), [("[red]x[/red]",)]), drawn)
    assert "[red]x[/red]" in drawn.getvalue()


def test_json_shows_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(json=True)
    output.show([1], TABLE, "text")
    output.note("by the way")
    shown = capsys.readouterr()
    assert json.loads(shown.out) == [1]
    assert shown.err == "by the way\n"


def test_people_see_every_part_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    Output().show(None, "first\nline", Table(("a",), [("b",)]))
    assert capsys.readouterr().out == "first\nline\nA\nb\n"


def test_details_stand_below_each_other() -> None:
    shown = details([("job", "x"), ("last error", "one\ntwo"), ("none", None)])
    assert shown == "job         x\nlast error  one\n            two\nnone        –"


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Output().progress("Backing up") as report:
        report(10, "half")
    assert capsys.readouterr() == ("", "")


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with progress_bar("Backing up") as report:
        report(None, "first [x]")
        report(42, None)
    assert "first [x]" in terminal.getvalue()
    assert "42 %" in terminal.getvalue()
