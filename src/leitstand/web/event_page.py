"""A page of the list of events, for the API and for people."""

from collections.abc import Sequence

from leitstand.events import Event, EventState
from leitstand.web.controls import Controls
from leitstand.web.number_cursor import cut, number_in


async def event_page(
    controls: Controls,
    name: str | None,
    state: EventState | None,
    cursor: str | None,
    limit: int,
) -> tuple[Sequence[Event], str | None]:
    """Up to ``limit`` events, newest first, and the cursor of the page after them.

    Raises ProblemError for a cursor that is none.
    """
    events = await controls.events.list_events(name, state, number_in(cursor), limit + 1)
    return cut(events, lambda event: event.id, limit)
