"""Draws tables: with Rich on a terminal, as aligned plain text everywhere else."""

import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO

STATE_STYLES = {
    **dict.fromkeys(
        ("succeeded", "complete", "ok", "yes", "live", "ready", "alive", "sent"), "green"
    ),
    **dict.fromkeys(
        ("failed", "damaged", "no", "timed_out", "crashed", "stale", "gone", "firing"), "bold red"
    ),
    **dict.fromkeys(("partial", "incomplete", "cancelled", "retrying", "draining"), "yellow"),
    **dict.fromkeys(("running", "queued", "pending", "sending"), "cyan"),
}
"""Cells that hold one of these words are coloured on a terminal; the word alone says it, too."""

GAP = "  "


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; ``right`` names the columns that are aligned to the right."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    right: frozenset[str] = field(default_factory=frozenset)
    empty: str = "Nothing there."

    def cells(self) -> list[list[str]]:
        """All rows as text that a terminal can show; None as a dash."""
        return [[printable(cell) for cell in row] for row in self.rows]


def printable(value: object) -> str:
    r"""``value`` on one line, with control characters as ``\xNN``: they would steer a terminal."""
    text = "–" if value is None else str(value)
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cs", "Cf", "Zl", "Zp"):
        return character.encode("unicode_escape").decode()
    return character


def plain_text(table: Table) -> str:
    """The table in columns of spaces, nothing cut off, without blanks at the ends of lines."""
    rows = table.cells()
    if not rows:
        return table.empty
    grid = [[heading.upper() for heading in table.columns], *rows]
    widths = [max(len(row[index]) for row in grid) for index in range(len(table.columns))]
    to_right = [heading in table.right for heading in table.columns]
    return "\n".join(_line(row, widths, to_right) for row in grid)


def _line(row: Sequence[str], widths: Sequence[int], to_right: Sequence[bool]) -> str:
    aligned = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(row, widths, to_right, strict=True)
    )
    return GAP.join(aligned).rstrip()


def draw(table: Table, file: IO[str]) -> None:
    """Draw the table on a terminal, as wide as that is; long cells are folded, never cut."""
    rows = table.cells()
    if not rows:
        print(table.empty, file=file)
        return
    # Rich takes 60 ms to import, which only a person at a terminal should pay.
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawn = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in table.columns:
        right = heading in table.right
        drawn.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell, STATE_STYLES.get(cell, "")) for cell in row))
    width = shutil.get_terminal_size().columns
    Console(file=file, width=width, highlight=False).print(drawn)
