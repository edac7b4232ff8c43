"""What agents and control servers say to each other: the bodies of requests and answers.

All paths are below ``API`` and are called by POST with a JSON body. Every call may be repeated: an
answer that was lost on its way is given again, and nothing is done twice. Times are seconds.
"""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Ending, HaltReason, Lease, Result, RunFacts, cleaned
from leitstand.masking import mask_url

API = "/api/v1/agent"

POLL_WAIT = 25.0
"""Seconds at most for which a question for tasks waits: below the patience of usual proxies."""

TEXT_LIMIT = 64 * 1024
"""Characters of log in one report."""

BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of a request: the whole log of a run (RUN_LIMIT) fits in."""


class Body(BaseModel):
    """Base of all bodies: unknown fields are ignored, since the other side may be newer."""

    model_config = ConfigDict(frozen=True)


class Hello(Body):
    """To ``hello``: an agent's process introduces itself."""

    host: str = Field(max_length=255)
    pid: int
    version: str = Field(max_length=100)
    kinds: tuple[str, ...] = Field(min_length=1, max_length=1000)
    tags: tuple[str, ...] = Field((), max_length=100)
    slots: int = Field(ge=1, le=1000)


class Welcome(Body):
    """The answer: the name for this process, and how the lives of its runs are watched."""

    instance: str
    heartbeat: float
    stale_after: float


class Claim(Body):
    """A lease as it is written."""

    run: int = Field(ge=0, lt=2**63)
    token: int = Field(ge=0, lt=2**63)

    @classmethod
    def of(cls, lease: Lease) -> Self:
        """The claim for a lease."""
        return cls(run=lease.run_id, token=lease.fencing_token)

    @property
    def lease(self) -> Lease:
        """The lease for a claim."""
        return Lease(self.run, self.token)


class Poll(Body):
    """To ``tasks``: waits for tasks and for requests to cancel.

    ``held`` are the runs that the agent knows of, ``halted`` those of them that it stops already.
    Tasks of it that are not among these were lost on their way and are given again. Of the kinds
    in ``full`` it takes no more for now.
    """

    instance: str
    held: frozenset[int] = frozenset()
    halted: frozenset[int] = frozenset()
    full: frozenset[str] = frozenset()
    wait: float = Field(POLL_WAIT, ge=0, le=POLL_WAIT)


class Task(Body):
    """A run to carry out, once a heartbeat has confirmed it."""

    claim: Claim
    job: str
    kind: str
    params: dict[str, Any]
    attempt: int
    correlation_id: str
    scheduled_at: datetime
    timeout: float | None
    event: dict[str, Any] | None

    def facts(self) -> RunFacts:
        """What the executor may know."""
        return RunFacts(
            run_id=self.claim.run,
            job=self.job,
            kind=self.kind,
            attempt=self.attempt,
            correlation_id=self.correlation_id,
            scheduled_at=self.scheduled_at,
            fencing_token=self.claim.token,
            timeout=self.timeout,
            event=self.event,
        )


class Orders(Body):
    """The answer to a poll; both empty when nothing came up in time."""

    tasks: tuple[Task, ...] = ()
    cancelled: frozenset[int] = frozenset()


class Vouch(Body):
    """To ``heartbeat``: the agent lives, and so do these runs."""

    instance: str
    claims: tuple[Claim, ...] = Field((), max_length=10_000)


class Vouched(Body):
    """The answer: which runs are the agent's, were vouched for, are to be cancelled."""

    registered: bool
    held: frozenset[int]
    beaten: frozenset[int]
    cancelled: frozenset[int]


class Report(Body):
    """More of a run's log, and its newest progress.

    ``position`` counts the characters of log that came before. A piece that is stored already, or
    that would leave a gap, is left out.
    """

    claim: Claim
    position: int = Field(0, ge=0, lt=2**62)
    text: str = ""
    progress: tuple[float | None, str | None] | None = None


class Reports(Body):
    """To ``reports``."""

    instance: str
    reports: tuple[Report, ...] = Field(max_length=1000)


class Received(Body):
    """The answer: up to where each run's log is stored. A run that is not there is lost."""

    positions: dict[int, int]


class End(Body):
    """How a run ended: cancelled, with an error, or with a result."""

    cancelled: bool = False
    halted: HaltReason | None = None
    error: dict[str, str | None] | None = None
    result: dict[str, Any] | None = None

    @classmethod
    def of(cls, ending: Ending, halted: HaltReason | None) -> Self:
        """What is to be said of an ending; errors that nobody foresaw keep type and text."""
        error = ending.error
        if error is not None and not isinstance(error, LeitstandError):
            said = mask_url(f"{type(error).__name__}: {error}")
            error = LeitstandError(said, code="EXECUTION_FAILED")
        document = error and {**error.as_dict(), "class": error.failure_class.value}
        result = ending.result and {**vars(ending.result), "result": dict(ending.result.result)}
        return cls(
            cancelled=ending.cancelled,
            halted=halted,
            error=cleaned(document),
            result=cleaned(result),
        )

    def ending(self) -> Ending:
        """The reverse of ``of``; raises ValueError, TypeError or KeyError for what is none."""
        error = None
        if said := self.error:
            error = LeitstandError(
                str(said["message"]),
                detail=said["detail"],
                code=said["code"],
                failure_class=FailureClass(str(said["class"])),
            )
        result = self.result and Result(
            **{**self.result, "skip_reasons": tuple(self.result["skip_reasons"])}
        )
        return Ending(self.cancelled, error, result or None)


class Delivery(Body):
    """To ``result``: the end of a run, with what was left of its log, in order."""

    instance: str
    claim: Claim
    end: End
    reports: tuple[Report, ...] = Field((), max_length=100)


class Recorded(Body):
    """The answer; false: the run had ended otherwise before, and the result is kept beside it."""

    recorded: bool


class Goodbye(Body):
    """To ``goodbye``: the process ends; what it was given and does not hold may go to others."""

    instance: str
    held: frozenset[int] = frozenset()


class Problem(Body):
    """What a refused request is told (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str | None = None
    code: str
    remedy: str | None = None
