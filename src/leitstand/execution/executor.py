"""What a job kind is: a name, a typed parameter model, and the code that carries a run out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict


class Params(BaseModel):
    """Base of all parameter models: unknown fields are errors, values do not change later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


P = TypeVar("P", bound=Params)
P_contra = TypeVar("P_contra", bound=Params, contravariant=True)


@dataclass(frozen=True)
class Result:
    """What an executor hands back when it ended without an error.

    ``objects_skipped`` > 0 makes the run a partial failure, so it counts what should have been
    processed and was not; ``skip_reasons`` holds the first few sentences why. ``result`` is shown
    with the run as it is and must be JSON (no secrets).
    """

    bytes_processed: int = 0
    bytes_written: int = 0
    objects_processed: int = 0
    objects_skipped: int = 0
    skip_reasons: tuple[str, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFacts:
    """What an executor may know about the run that it carries out."""

    run_id: int
    job: str
    kind: str
    attempt: int
    correlation_id: str
    scheduled_at: datetime
    fencing_token: int
    timeout: float | None = None
    event: Mapping[str, Any] | None = None


class Reporter(Protocol):
    """Where an executor sends what should be visible while the run is going.

    Both calls return at once and may be made from any thread; what they are given is stored
    within about a second, and in bounded size.
    """

    def log(self, line: str) -> None:
        """Add one line to the run's log."""

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """Replace the run's progress; ``percent`` is 0 to 100, None when unknown."""


class Isolation(Enum):
    """Where an executor's code runs."""

    INLINE = auto()
    """In the server's event loop: only for code that awaits and never computes for long."""
    CHILD = auto()
    """In a child process that the executor starts, and that ends by the run's timeout itself."""
    WORKER = auto()
    """In a process of its own that dies with the server and can be killed."""


class Executor(Protocol, Generic[P_contra]):
    """Carries out one job kind.

    ``execute`` returns a Result or raises; a LeitstandError gives the run its code, message and
    failure class, any other exception ends it as ``EXECUTION_FAILED``, permanent. Cancellation,
    timeout and shutdown arrive as ``asyncio.CancelledError`` at an await: clean up, re-raise.
    """

    kind: ClassVar[str]
    params: ClassVar[type[Params]]
    isolation: ClassVar[Isolation]

    async def execute(self, params: P_contra, run: RunFacts, reporter: Reporter) -> Result:
        """Do the work of one run."""
