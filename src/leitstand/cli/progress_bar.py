"""The progress bar of a long command on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from leitstand.cli.output import ReportProgress
from leitstand.cli.table import printable


@contextmanager
def progress_bar(description: str) -> Iterator[ReportProgress]:
    """A bar on standard error that moves with each report and vanishes at the end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[percent]}"),
        TimeElapsedColumn(),
    )
    console = Console(file=None, stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=None, percent="")

        def report(percent: float | None, message: str | None) -> None:
            if percent is not None:
                shown = f"{percent:3.0f} %"
                progress.update(task, total=100, completed=percent, percent=shown)
            if message is not None:
                progress.update(task, description=str(Text(printable(message))))

        yield report
