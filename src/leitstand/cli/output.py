"""Shows results: tables and sentences to people, one JSON document to scripts."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from leitstand.cli.exit_code import ExitCode
from leitstand.cli.streams import ResultLostError, losing_nothing, say_aside
from leitstand.cli.table import Table, draw, plain_text, printable
from leitstand.display import in_words
from leitstand.json_document import to_json

ReportProgress = Callable[[float | None, str | None], None]
"""Called with per cent (None: unknown) and what is being done (None: as before)."""


@dataclass(frozen=True)
class Output:
    """Standard output, as asked for: ``json`` means one document there and nothing else."""

    json: bool = False
    lost: list[ResultLostError] = field(default_factory=list)
    """Why a result could not be written, if it could not: the work goes on to its end."""

    def show(self, document: object, *people: Table | str) -> None:
        """The result of a command: ``document`` to scripts, ``people`` (in order) to people.

        Call it once per command. Every part is a table or a text of one or more lines. That it
        cannot be written ends nothing; see ``check_written``.
        """
        try:
            with losing_nothing(ExitCode.DONE):
                self._write(document, people)
        except ResultLostError as error:
            self.lost.append(error)

    def check_written(self, ended: ExitCode) -> None:
        """Raise ResultLostError if what was shown did not get out; ``ended``: how the work did."""
        for lost in self.lost:
            raise lost.after(ended)

    def _write(self, document: object, people: Sequence[Table | str]) -> None:
        if self.json:
            print(to_json(document))
            return
        for part in people:
            self._show_to_people(part)

    def _show_to_people(self, part: Table | str) -> None:
        if isinstance(part, str):
            print("\n".join(printable(line) for line in part.split("\n")))
        elif sys.stdout.isatty():
            draw(part, sys.stdout)
        else:
            print(plain_text(part))

    def lines(self, texts: Iterable[str]) -> None:
        """Text for people as it comes, in pieces of one or more lines.

        Raises ResultLostError: there is nothing else that the command does.
        """
        with losing_nothing(ExitCode.DONE):
            for text in texts:
                self._show_to_people(text)

    def announce(self, sentence: str) -> None:
        """Tell whoever listens at standard output; nothing depends on it."""
        with suppress(ResultLostError):
            self.lines([sentence])

    def note(self, sentence: str) -> None:
        """Something worth knowing beside the result, to standard error."""
        say_aside(printable(sentence))

    @contextmanager
    def progress(self, description: str) -> Iterator[ReportProgress]:
        """A progress bar while the block runs; only for a person at a terminal."""
        if self.json or not sys.stderr.isatty():
            yield _silently
            return
        # Rich takes 60 ms to import, which only a person at a terminal should pay.
        from leitstand.cli.progress_bar import progress_bar  # noqa: PLC0415

        with progress_bar(description) as report:
            yield report


def _silently(percent: float | None, message: str | None) -> None:
    """Progress of which nobody is told."""


def details(pairs: Iterable[tuple[str, object]]) -> str:
    """One thing's facts, a line for each; several lines of a value stand below each other."""
    listed: Sequence[tuple[str, object]] = list(pairs)
    width = max((len(label) for label, _ in listed), default=0)
    lines: list[str] = []
    for label, value in listed:
        first, *more = in_words(value).split("\n")
        lines.append(f"{label.ljust(width)}  {first}")
        lines += [" " * (width + 2) + line for line in more]
    return "\n".join(lines)
