"""A page of the list of events, for the API and for people."""

from leitstand.events import Event, EventState
from leitstand.web.controls import Controls
from leitstand.web.id_cursor import id_above


async def event_page(
    controls: Controls,
    name: str | None,
    state: EventState | None,
    cursor: str | None,
    limit: int,
) -> tuple[list[Event], str | None]:
    """Up to ``limit`` events, newest first, and the cursor of the page after them.

    Raises ProblemError for a cursor that is none.
    """
    events = await controls.events.list_events(name, state, id_above(cursor), limit + 1)
    shown = events[:limit]
    return shown, str(shown[-1].id) if len(events) > limit else None
