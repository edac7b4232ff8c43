"""The kind ``send-notifications``: sends what is due, should no server have been woken for it."""

from typing import ClassVar

from pydantic import Field

from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts
from leitstand.notifications.dispatcher import Dispatcher


class SendNotificationsParams(Params):
    """How many notifications one run sends at most."""

    limit: int = Field(default=1000, ge=1, le=100_000)


class SendNotifications:
    """One pass of a dispatcher. What fails is in the queue, not in the run's outcome."""

    kind: ClassVar[str] = "send-notifications"
    params: ClassVar[type[Params]] = SendNotificationsParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def execute(
        self, params: SendNotificationsParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Send up to ``limit`` notifications."""
        tally = await self._dispatcher.process_due(params.limit)
        return Result(objects_processed=tally.sent, result=tally.as_dict())
