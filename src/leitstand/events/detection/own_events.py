"""The events that tell of the detectors themselves."""

from collections.abc import Iterator

from leitstand.events.catalogue import CatalogueEntry
from leitstand.events.event import NewEvent

RESET = "source.reset"
EXPIRED = "source.gap-expired"
NEAR_LIMIT = "source.near-id-limit"


def own_entries() -> Iterator[CatalogueEntry]:
    """What the catalogue says about them."""
    source = {"source": "the source's name"}
    yield CatalogueEntry(
        RESET,
        "a log table was emptied, restored or reset by somebody: its detectors begin anew",
        "detectors",
        {**source, "epoch": "counts resets", "reason": "why", "by": "who asked for it, or null"},
    )
    yield CatalogueEntry(
        EXPIRED,
        "rows of a log table had not come after a day, and are waited for no longer",
        "detectors",
        {**source, "first_id": "the first of them", "last_id": "the last of them"},
    )
    yield CatalogueEntry(
        NEAR_LIMIT,
        "a log table has used up 90 % of the numbers that its rows can have",
        "detectors",
        {**source, "highest": "the highest number", "limit": "the last one that there is"},
    )


def reset_event(
    source: str, epoch: int, reason: str, tenant: str, by: str | None = None
) -> NewEvent:
    """The source begins anew."""
    payload = {"source": source, "epoch": epoch, "reason": reason, "by": by}
    return NewEvent(RESET, f"log:{source}", payload, tenant=tenant)


def expired_event(source: str, first: int, last: int, tenant: str) -> NewEvent:
    """These rows are waited for no longer."""
    payload = {"source": source, "first_id": first, "last_id": last}
    return NewEvent(EXPIRED, f"log:{source}", payload, tenant=tenant)


def near_limit_event(source: str, highest: int, limit: int, tenant: str) -> NewEvent:
    """The source runs out of numbers."""
    payload = {"source": source, "highest": highest, "limit": limit}
    return NewEvent(NEAR_LIMIT, f"log:{source}", payload, tenant=tenant)
