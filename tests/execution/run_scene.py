"""A run's facts and a reporter that remembers, for tests of executors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from leitstand.execution.executor import RunFacts


class Recorded:
    """A Reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: list[tuple[float | None, str | None]] = []

    def log(self, line: str) -> None:
        """Keep a line."""
        self.lines.append(line)

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """Keep a step."""
        self.steps.append((percent, message))


def facts(
    kind: str, timeout: float | None = None, event: Mapping[str, Any] | None = None
) -> RunFacts:
    """Facts of run 7, the second attempt of ``nightly``."""
    return RunFacts(
        run_id=7,
        job="nightly",
        kind=kind,
        attempt=2,
        correlation_id="c-1",
        scheduled_at=datetime(2026, 3, 1, 2, 30, tzinfo=UTC),
        fencing_token=42,
        timeout=timeout,
        event=event,
    )
