"""Times the phases of a drill, and says when one takes too long."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from leitstand.errors import LeitstandError

Say = Callable[[str], None]


class PhaseTimeoutError(LeitstandError):
    """A phase of a drill took longer than it may."""

    code = "DRILL_TIMEOUT"


@dataclass
class Stopwatch:
    """Seconds of each phase, and the deadline of the one that is going on."""

    timeout: float
    say: Say
    phases: dict[str, float] = field(default_factory=dict)
    _name: str = ""
    _until: float = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[float]:
        """Time a phase; gives the seconds that it may take."""
        self.say(name)
        self._name, began = name, time.monotonic()
        self._until = began + self.timeout
        try:
            yield self.timeout
        finally:
            self.phases[name] = round(time.monotonic() - began, 3)

    def check(self, *_: object) -> None:
        """Raise PhaseTimeoutError when the phase that is going on is overdue."""
        if time.monotonic() > self._until:
            raise PhaseTimeoutError(f"the phase {self._name!r} took longer than {self.timeout:g} s")

    def total(self, *names: str) -> float:
        """Seconds of the phases ``names`` that took place."""
        return round(sum(self.phases.get(name, 0.0) for name in names), 3)
