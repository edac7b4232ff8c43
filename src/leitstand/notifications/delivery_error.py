"""The ways in which a delivery fails, and what each means for the next attempt."""

from leitstand.errors import FailureClass, LeitstandError

LONGEST_RETRY_AFTER = 3600.0
"""Seconds at most that a receiver may have us wait."""


class DeliveryError(LeitstandError):
    """A sender could not deliver; its texts hold no secret of the recipient.

    Transient unless the receiver said that it will never take this. ``outage`` tells that the far
    side is away or unwell as a whole, which lasts longer than a hiccup. ``retry_after`` are the
    seconds that it asked for.
    """

    code = "NOT_DELIVERED"
    failure_class = FailureClass.TRANSIENT

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        outage: bool = False,
        retry_after: float | None = None,
        remedy: str | None = None,
    ) -> None:
        kind = FailureClass.PERMANENT if permanent else FailureClass.TRANSIENT
        super().__init__(message, failure_class=kind, remedy=remedy)
        self.outage = outage
        self.retry_after = min(retry_after, LONGEST_RETRY_AFTER) if retry_after else None
