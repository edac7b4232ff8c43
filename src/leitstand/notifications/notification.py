"""A notification: one message to one recipient, as it waits in the queue."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID, uuid4

from leitstand.masking import MASK

_SECRET_URL = re.compile(r"(?i)^([a-z][a-z0-9+.-]*)://.+")


class Status(StrEnum):
    """What becomes of a notification; ``sent`` and ``failed`` are left only by a person's retry."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True)
class Draft:
    """What somebody is to be told; ``group`` allows it to share a message with others of it."""

    channel: str
    recipient: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None
    message_id: UUID = field(default_factory=uuid4)


@dataclass(frozen=True)
class Lease:
    """The claim of one worker on one notification; ``number`` grows with every claim."""

    id: int
    number: int


@dataclass(frozen=True)
class Notification:
    """A notification as it is stored; ``last_error`` holds no secret."""

    id: int
    message_id: UUID
    channel: str
    recipient: str
    payload: Mapping[str, Any]
    status: Status
    attempts: int
    max_attempts: int
    lease: int
    in_doubt: bool
    bundled_into: int | None
    next_attempt_at: datetime
    last_error: str | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``notifications``."""
        values = {name: row[name] for name in cls.__dataclass_fields__}
        return cls(**{**values, "status": Status(row["status"])})

    def as_dict(self) -> dict[str, Any]:
        """The notification's JSON shape; what may be secret in a recipient's URL is masked."""
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "lease"}
        shown["recipient"] = shown_recipient(self.recipient)
        waiting = self.status is Status.PENDING
        return {**shown, "next_attempt_at": self.next_attempt_at if waiting else None}


@dataclass(frozen=True)
class Claimed:
    """A notification that this worker may send now, with the payloads of those bundled with it."""

    notification: Notification
    bundled: tuple[Mapping[str, Any], ...] = ()

    @property
    def held(self) -> Lease:
        """The right to record what comes of it."""
        return Lease(self.notification.id, self.notification.lease)


def shown_recipient(recipient: str) -> str:
    """A recipient as it may be shown: of a URL the scheme alone, since tokens stand anywhere."""
    return _SECRET_URL.sub(rf"\1://{MASK}", recipient)
