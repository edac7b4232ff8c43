"""Receivers for the tests of dispatchers: in this process, they note what reaches them."""

import asyncio
from collections import Counter
from collections.abc import Callable

from leitstand.notifications import (
    Claimed,
    DeliveryError,
    Dispatcher,
    Outbox,
    RetryPolicy,
    SendingLimits,
)

QUICK = RetryPolicy(back_off=0.01, outage_back_off=0.02)


class Mailbox:
    """Takes what it is given, unless ``refusal`` has an error for it."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.order: list[int] = []
        self.claims: list[Claimed] = []
        self.refusal: Callable[[Claimed], DeliveryError | None] = lambda _: None
        self.hanging: set[int] = set()

    async def deliver(self, claimed: Claimed) -> None:
        one = claimed.notification
        if one.id in self.hanging:
            await asyncio.Event().wait()
        if error := self.refusal(claimed):
            raise error
        self.taken[str(one.message_id)] += 1
        self.order.append(one.id)
        self.claims.append(claimed)


def dispatcher(
    outbox: Outbox, mailbox: Mailbox, deadline: float = 5.0, concurrency: int = 4
) -> Dispatcher:
    return Dispatcher(outbox, mailbox.deliver, QUICK, SendingLimits(deadline, concurrency))
