"""Works a queue off: takes batches in, acknowledges what was committed, and never gives up."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from leitstand.downtimes.backoff import Backoff
from leitstand.downtimes.feed import Delivery, Feed, Source
from leitstand.downtimes.intake import Counts, Intake
from leitstand.errors import FailureClass, LeitstandError

log = structlog.get_logger(__name__)

LATE = 60.0
"""Seconds of lag from which on people are told, and between two times that they are."""

DEPTH_EVERY = 5.0
"""Seconds between two questions for the queue's depth, while messages come."""

IDLE_AFTER = 1.0
"""Seconds of waiting after which nothing is late any more."""


@dataclass
class ConsumerState:
    """What a consumer has done since it began, and how it is."""

    counts: Counts = field(default_factory=Counts)
    connected: bool = False
    retries: int = 0
    last_lag: float = 0.0
    last_depth: int = 0
    waiting_since: float | None = None

    @property
    def idle(self) -> bool:
        """Whether everything that was sent has been worked off."""
        since = self.waiting_since
        return since is not None and time.monotonic() - since > IDLE_AFTER

    @property
    def lag(self) -> float:
        """Seconds by which the last batch came after what it tells; 0 when nothing waits."""
        return 0.0 if self.idle else self.last_lag

    @property
    def is_behind(self) -> bool:
        """Whether what comes is so late that what happened since may still wait."""
        return self.lag > LATE

    @property
    def depth(self) -> int:
        """Messages that waited when the queue was last asked; 0 when nothing waits."""
        return 0 if self.idle else self.last_depth


class Consumer:
    """Consumes from one source; ``run`` until it is cancelled.

    A message is acknowledged when what it changes has been committed. A batch that fails is tried
    again as it is, so that order holds, while the queue keeps what comes after it.
    """

    def __init__(self, source: Source, intake: Intake, batch: int = 500) -> None:
        self.state = ConsumerState()
        self._source = source
        self._intake = intake
        self._batch = batch
        self._backoff = Backoff()
        self._told_of_lag = float("-inf")
        self._asked_for_depth = float("-inf")

    async def run(self) -> None:
        """Consume until cancelled; a lost connection is made anew."""
        while True:
            await self._until_it_succeeds(self._consume)

    async def _consume(self) -> None:
        try:
            async with self._source.connect() as feed:
                log.info("consuming downtimes", source=self._source.name)
                self.state.connected = True
                self._backoff.reset()
                while True:
                    _heed_cancellation()
                    await self._work_off(feed)
        finally:
            self.state.connected = False

    async def _work_off(self, feed: Feed) -> None:
        self.state.waiting_since = time.monotonic()
        batch = await feed.next_batch(self._batch)
        self.state.waiting_since = None
        await self._until_it_succeeds(lambda: self._take(batch))
        await feed.acknowledge(batch)
        await self._look_at_lag(feed)

    async def _take(self, batch: Sequence[Delivery]) -> None:
        again = self._backoff.pause > Backoff().pause or any(one.again for one in batch)
        counts = await self._intake.take([one.body for one in batch], again=again)
        self.state.counts.add(counts)
        if counts.first_timestamp is not None:
            self.state.last_lag = max(0.0, time.time() - counts.first_timestamp)

    async def _until_it_succeeds(self, attempt: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await attempt()
            except LeitstandError as error:
                _heed_cancellation()
                self._complain(error)
                await self._backoff.wait()
            except Exception:
                # A fault of ours, or of a library. The feed stands still rather than end unseen or
                # lose what it could not work off.
                _heed_cancellation()
                self.state.retries += 1
                log.exception("downtimes: a fault", source=self._source.name)
                await self._backoff.wait()
            else:
                self._backoff.reset()
                return

    def _complain(self, error: LeitstandError) -> None:
        self.state.retries += 1
        # What only a person can mend is an error, also while it is tried again.
        write = log.warning if error.failure_class is FailureClass.TRANSIENT else log.error
        write(
            "downtimes: trying again",
            source=self._source.name,
            error=error.message,
            detail=error.detail,
            remedy=error.remedy,
            pause=self._backoff.pause,
        )

    async def _look_at_lag(self, feed: Feed) -> None:
        now = time.monotonic()
        if now - self._asked_for_depth >= DEPTH_EVERY:
            self._asked_for_depth = now
            self.state.last_depth = await feed.depth()
        if self.state.last_lag > LATE and now - self._told_of_lag >= LATE:
            self._told_of_lag = now
            log.warning(
                "downtimes come late",
                source=self._source.name,
                seconds=round(self.state.last_lag),
                waiting=self.state.last_depth,
            )


def _heed_cancellation() -> None:
    """Raise CancelledError if this task was cancelled and something swallowed it.

    Up to Python 3.11 `asyncio.wait_for`, which the RabbitMQ library uses, does so when the
    cancellation and the answer come in the same moment; the consumer would wait on for ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
