"""Takes calls in: each that proves who sends it becomes one event, however often it is sent."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from leitstand.errors import NotFoundError
from leitstand.events.event import NewEvent
from leitstand.events.queue import EventQueue
from leitstand.events.webhooks.body import payload_of
from leitstand.events.webhooks.hook import Hook
from leitstand.events.webhooks.proof import Call, CallRefusedError, message_id, prove
from leitstand.failed_attempts import FailedAttempts

FAILURES = 1_000
"""Calls of one address at one hook that a minute may bring in vain.

It bounds what they cost; nobody can guess a key. It is high since many senders come from one
address, of which one that is set up wrongly must not lock out the others.
"""

STORED, REPEATED = KINDS = ("stored", "repeated")

UNKNOWN = ""
"""Stands in counts for all hooks that there are not: their names are strangers' choice."""


@dataclass(frozen=True)
class Taken:
    """A call that was taken: its event, None if that was told before and is deleted by now."""

    event: int | None
    repeated: bool

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        return {"event": self.event, "repeated": self.repeated}


class Intake:
    """The hooks of an installation. ``clock`` gives seconds since 1970."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        events: EventQueue,
        clock: Callable[[], float] = time.time,
        failures: FailedAttempts | None = None,
    ) -> None:
        self._hooks = {hook.name: hook for hook in hooks}
        self._events = events
        self._clock = clock
        self._failures = FailedAttempts(FAILURES) if failures is None else failures
        self.taken = Counter({(name, kind): 0 for name in self._hooks for kind in KINDS})
        self.refused: Counter[tuple[str, str]] = Counter()

    def hook(self, name: str, address: str) -> Hook:
        """The hook that is called from there; nothing is read yet.

        Raises NotFoundError, and TooManyFailuresError.
        """
        if name not in self._hooks:
            raise NotFoundError(
                "there is no such hook", remedy="See [[hook]] in the configuration."
            )
        self._failures.check((name, address))
        return self._hooks[name]

    async def take(self, hook: Hook, call: Call, body: bytes, address: str) -> Taken:
        """Store the call as an event; once it returns, the event is committed.

        Of calls with one id, also at the same moment at several servers, the first is stored and
        all are answered alike. Raises CallRefusedError, NotJsonError, EventRefusedError.
        """
        try:
            prove(hook, call, body, self._clock())
        except CallRefusedError:
            self._failures.add((hook.name, address))
            raise
        event = NewEvent(
            hook.event,
            hook.event,
            payload_of(body),
            tenant=hook.tenant,
            message_id=message_id(call),
        )
        number, repeated = await self._events.emit_once(event)
        self.taken[hook.name, REPEATED if repeated else STORED] += 1
        return Taken(number, repeated)

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        """Count under the hook's name what goes wrong within, by the error's code."""
        try:
            yield
        except Exception as error:
            known = name if name in self._hooks else UNKNOWN
            self.refused[known, getattr(error, "code", "INTERNAL")] += 1
            raise
