"""An event as it is announced, and as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self


class EventState(StrEnum):
    """What has become of an event."""

    WAITING = "waiting"
    """No pass has looked at it yet."""
    CONSUMED = "consumed"
    """A run has it as its payload, or will: a job with ``deliver = "each"`` takes one at a time."""
    COALESCED = "coalesced"
    """A run counts it; its payload is that of a newer one."""
    UNHEARD = "unheard"
    """No enabled job listened."""


@dataclass(frozen=True)
class NewEvent:
    """Something that happened; ``occurred_at`` None means now.

    ``message_id`` is the sender's own: of several events of one source with the same one, the first
    is stored.
    """

    name: str
    source: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    tenant: str = "main"
    message_id: str | None = None


@dataclass(frozen=True)
class Event:
    """An event as it is stored; ``run`` is the run that has it, of several the first."""

    id: int
    name: str
    source: str
    tenant: str
    payload: Mapping[str, Any]
    occurred_at: datetime
    stored_at: datetime
    state: EventState
    run: int | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """An event from a row of ``events``."""
        return cls(
            id=row["id"],
            name=row["name"],
            source=row["source"],
            tenant=row["tenant"],
            payload=row["payload"],
            occurred_at=row["occurred_at"],
            stored_at=row["stored_at"],
            state=EventState(row["state"]),
            run=row["run_id"],
        )

    def as_dict(self) -> dict[str, Any]:
        """The event's JSON shape."""
        return {
            "id": self.id,
            "name": self.name,
            "source": self.source,
            "tenant": self.tenant,
            "payload": self.payload,
            "occurred_at": self.occurred_at,
            "stored_at": self.stored_at,
            "state": self.state.value,
            "run": self.run,
        }
