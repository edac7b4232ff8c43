"""The shapes of notifications and of who is notified, for the API's description."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


class NotificationShape(BaseModel):
    """A message to one recipient; ``in_doubt``: it may have arrived, and is sent again."""

    id: int
    message_id: str = Field(description="The same in every attempt; receivers may go by it.")
    channel: str
    recipient: str = Field(description="Of a URL the scheme alone.")
    payload: dict[str, Any]
    status: str = Field(description="pending, sending, sent or failed")
    attempts: int
    max_attempts: int
    in_doubt: bool
    bundled_into: int | None = Field(description="The notification in whose message it is told.")
    next_attempt_at: datetime | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime


class RetriedShape(BaseModel):
    """How many notifications are tried anew."""

    retried: int


class ContactShape(BaseModel):
    """Whom a name reaches."""

    name: str
    transport: str | None = Field(
        description="email, webhook, log or apprise; null for a name of several."
    )
    reaches: list[str] = Field(description="Addresses; of a URL the scheme alone.")
    signed: bool = Field(description="Its messages are signed with a secret of its own.")


class NotifyRuleShape(BaseModel):
    """Which ends of which jobs' runs are told to whom; ``repeat`` is in seconds."""

    jobs: list[str]
    kinds: list[str]
    on: list[str]
    recipients: list[str] = Field(description="Of a URL the scheme alone.")
    every_attempt: bool
    recovery: bool
    repeat: float
