"""Sends what is due: claims with a lease, sends within a deadline, records what came of it."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import psycopg
import structlog

from leitstand.errors import LeitstandError
from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.next_attempt import RetryPolicy, pause_before_next
from leitstand.notifications.notification import Claimed
from leitstand.notifications.outbox import CHANNEL, Outbox
from leitstand.store.listener import Listener

log = structlog.get_logger(__name__)

RECORD_PAUSE = 0.5
"""Seconds between two attempts to record."""

AWAY_PAUSE = 5.0
"""Seconds until the next look when the database is away."""

GRACE = 3.0
"""Seconds that messages under way get when their dispatcher ends."""

LONGEST_PAUSE = 60.0
"""Seconds between two looks when nothing is known to be due."""

Deliver = Callable[[Claimed], Awaitable[None]]
"""Returns when the far side has taken it; raises DeliveryError."""


@dataclass(frozen=True)
class Tally:
    """What one call of ``process_due`` did."""

    sent: int = 0
    retried: int = 0
    failed: int = 0
    lost: int = 0

    def as_dict(self) -> dict[str, int]:
        """The tally's JSON shape."""
        return {
            "sent": self.sent,
            "retried": self.retried,
            "failed": self.failed,
            "lost": self.lost,
        }


@dataclass(frozen=True)
class SendingLimits:
    """``deadline``: seconds for one message, all of it; ``concurrency``: messages at once.

    ``margin``: seconds by which a lease outlasts the deadline, for the record and a busy loop.
    """

    deadline: float = 15.0
    concurrency: int = 4
    margin: float = 15.0


class Dispatcher:
    """Any number of them may work on one database, in one process or in many.

    What is claimed is sent at once: a worker that is killed leaves at most ``concurrency``
    notifications in doubt, which others send again under the same message ids.
    """

    def __init__(
        self,
        outbox: Outbox,
        deliver: Deliver,
        policy: RetryPolicy | None = None,
        limits: SendingLimits | None = None,
    ) -> None:
        self._outbox = outbox
        self._deliver = deliver
        self._policy = policy or RetryPolicy()
        self._limits = limits or SendingLimits()
        self._wake = asyncio.Event()

    async def process_due(self, limit: int = 1000) -> Tally:
        """Send up to ``limit`` due notifications, oldest first; what comes of them is recorded.

        One that fails or hangs holds up no other. Raises DatabaseUnavailableError.
        """
        counts: Counter[str] = Counter()
        sending: set[asyncio.Task[str]] = set()
        left = limit
        try:
            while left or sending:
                room = min(left, self._limits.concurrency - len(sending))
                started = await self._start(room)
                sending |= started
                left = 0 if len(started) < room else left - len(started)
                counts.update(await _some_ended(sending))
        finally:
            await _settled(sending)
        return Tally(**counts)

    async def _start(self, room: int) -> set["asyncio.Task[str]"]:
        """Claim as many as there is room for and begin to send them."""
        if room < 1:
            return set()
        claimed = await self._outbox.claim(room, self._limits.deadline + self._limits.margin)
        return {asyncio.create_task(self._send(each)) for each in claimed}

    async def _send(self, claimed: Claimed) -> str:
        """Send one and record it; returns which number of the tally it adds to."""
        try:
            async with asyncio.timeout(self._limits.deadline) as limit:
                await self._deliver(claimed)
        except DeliveryError as error:
            return await self._failed(claimed, error)
        except TimeoutError:
            said = "" if limit.expired() else ", as the sender says"
            late = f"it was not taken within {self._limits.deadline:g} s{said}"
            return await self._failed(claimed, DeliveryError(late, outage=True))
        except Exception as error:  # a fault in a sender is that message's alone
            log.exception("a sender failed unexpectedly", notification=claimed.notification.id)
            fault = DeliveryError(f"the sender failed: {type(error).__name__}")
            return await self._failed(claimed, fault)
        held = claimed.held
        return await self._recorded("sent", lambda: self._outbox.record_sent(held))

    async def _failed(self, claimed: Claimed, error: DeliveryError) -> str:
        one, held = claimed.notification, claimed.held
        jitter = random.random()  # noqa: S311 -- not for secrets
        pause = pause_before_next(one.attempts, one.max_attempts, error, self._policy, jitter)
        log.warning(
            "notification not delivered",
            notification=one.id,
            channel=one.channel,
            attempt=one.attempts,
            error=error.message,
            next_in=pause,
        )
        came_to = "failed" if pause is None else "retried"
        text = _text(error)
        return await self._recorded(came_to, lambda: self._outbox.record_failure(held, text, pause))

    async def _recorded(self, came_to: str, record: Callable[[], Awaitable[bool]]) -> str:
        """Record for as long as the lease holds: what is not recorded is sent once more."""
        until = time.monotonic() + self._limits.margin
        while True:
            try:
                return came_to if await record() else "lost"
            except (LeitstandError, psycopg.Error) as error:
                if time.monotonic() > until:
                    log.error("what came of a notification is not recorded", error=str(error))  # noqa: TRY400 -- the reason is enough
                    return "lost"
            await asyncio.sleep(RECORD_PAUSE)

    # -- as a duty ----------------------------------------------------------------------------

    def wake(self) -> None:
        """Look at once; to be called in the event loop's thread."""
        self._wake.set()

    async def run(self, conninfo: str) -> None:
        """Send whatever becomes due, as soon as it does, until cancelled."""
        listener = Listener(conninfo, [CHANNEL], lambda *_: self.wake(), on_gap=self.wake)
        listening = asyncio.create_task(listener.run())
        sending: set[asyncio.Task[str]] = set()
        try:
            while True:
                self._wake.clear()
                pause = await self._round(sending)
                try:
                    async with asyncio.timeout(pause):
                        await self._wake.wait()
                except TimeoutError:
                    pass
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await _settled(sending)

    async def _round(self, sending: set["asyncio.Task[str]"]) -> float:
        """Begin to send what is due; returns how long to wait for more.

        Whatever ends makes room and wakes, so that one that hangs holds up no other.
        """
        room = self._limits.concurrency - len(sending)
        try:
            started = await self._start(room)
            due = await self._outbox.next_due() if len(started) < room else None
        except (LeitstandError, psycopg.Error) as error:
            log.warning("notifications wait", error=str(error).strip())
            return AWAY_PAUSE
        sending |= started
        for task in started:
            task.add_done_callback(sending.discard)
            task.add_done_callback(lambda _: self.wake())
        return LONGEST_PAUSE if due is None else min(LONGEST_PAUSE, max(0.05, due))


def _text(error: DeliveryError) -> str:
    return f"{error.message}. {error.remedy}" if error.remedy else error.message


async def _some_ended(sending: set["asyncio.Task[str]"]) -> list[str]:
    """Wait until one has ended; takes those that have out of the set."""
    if not sending:
        return []
    ended, _ = await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
    sending -= ended
    return [task.result() for task in ended]


async def _settled(sending: set["asyncio.Task[str]"]) -> None:
    """Let what is being sent come to its end, or cut it off and leave it to its lease."""
    if sending:
        await asyncio.wait(set(sending), timeout=GRACE)
    for task in sending:
        task.cancel()
    await asyncio.gather(*sending, return_exceptions=True)
