"""Gathers log lines and progress of a running run until somebody takes them away."""

import threading

LINE_LIMIT = 40_000
"""Characters of one line that are kept."""

RUN_LIMIT = 1_000_000
"""Characters of log that one run may store; what follows is counted, not kept."""


class LogBuffer:
    """The Reporter of one run; its calls cost a lock and may come from any thread."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._latest: tuple[float | None, str | None] | None = None
        self._stored = 0
        self._dropped = 0
        self._lock = threading.Lock()

    def log(self, line: str) -> None:
        """Add one line to the run's log."""
        line = line[:LINE_LIMIT].replace("\x00", "\N{REPLACEMENT CHARACTER}")
        with self._lock:
            if self._stored + len(line) > RUN_LIMIT:
                self._dropped += 1
                return
            self._stored += len(line) + 1
            self._lines.append(line)

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """Replace the run's progress."""
        with self._lock:
            self._latest = (percent, message)

    def silent(self) -> bool:
        """Whether there is nothing left to write."""
        with self._lock:
            return not (self._lines or self._latest or self._dropped)

    def take_text(self, final: bool) -> str:
        """The lines since the last call, with the count of dropped ones when this is the last."""
        with self._lock:
            lines, self._lines = self._lines, []
            if final and self._dropped:
                lines.append(f"[{self._dropped} more lines were not kept]")
                self._dropped = 0
        return "\n".join(lines)

    def take_progress(self) -> tuple[float | None, str | None] | None:
        """The newest progress since the last call, None if there is none."""
        with self._lock:
            latest, self._latest = self._latest, None
        return latest
