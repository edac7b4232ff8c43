"""The part of a run's log that the servers have not confirmed yet, and where it begins."""

from leitstand.agent_protocol import TEXT_LIMIT, Claim, Report
from leitstand.execution import Lease, LogBuffer, cleaned


class OutgoingLog(LogBuffer):
    """The Reporter of one run.

    A piece that was sent stays as it is until it is confirmed, and is sent again: the servers know
    by its position whether they have it. Pieces are whole lines.
    """

    def __init__(self, lease: Lease) -> None:
        super().__init__()
        self._claim = Claim.of(lease)
        self._position = 0
        self._piece = ""
        self._waiting: list[str] = []

    def next_report(self) -> Report | None:
        """The next piece and the newest progress; None when there is nothing to say."""
        progress = self.take_progress()
        self._gather(final=False)
        if not (self._piece or progress):
            return None
        return self._report(progress)

    def confirm(self, position: int) -> None:
        """The servers have stored the log up to there."""
        end = self._position + len(self._piece)
        if position >= end:
            self._position, self._piece = end, ""

    @property
    def more(self) -> bool:
        """Whether there is more to send than one report held."""
        return bool(self._waiting)

    def last_reports(self) -> tuple[Report, ...]:
        """All that is left, in order, with the count of lines that were not kept."""
        progress, reports = self.take_progress(), []
        self._gather(final=True)
        while self._piece:
            reports.append(self._report(None))
            self.confirm(self._position + len(self._piece))
            self._cut()
        return (*reports, self._report(progress)) if progress else tuple(reports)

    def _report(self, progress: tuple[float | None, str | None] | None) -> Report:
        return Report(
            claim=self._claim,
            position=self._position,
            text=self._piece,
            progress=cleaned(progress),
        )

    def _gather(self, final: bool) -> None:
        if text := self.take_text(final):
            self._waiting += text.encode("utf-8", "replace").decode().split("\n")
        self._cut()

    def _cut(self) -> None:
        """Make the first lines the next piece, unless there is one; blank ones alone are none."""
        while self._waiting and not self._piece:
            count = size = 0
            while count < len(self._waiting) and (
                count == 0 or size + len(self._waiting[count]) < TEXT_LIMIT
            ):
                size += len(self._waiting[count]) + 1
                count += 1
            self._piece = "\n".join(self._waiting[:count])
            del self._waiting[:count]
