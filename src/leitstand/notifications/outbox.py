"""The ledger of notifications: the only code that reads and writes the table notifications."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from leitstand.errors import ConflictError, NotFoundError, UsageError
from leitstand.notifications.notification import Claimed, Draft, Lease, Notification, Status
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import json_text

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

CHANNEL = "leitstand_notifications"
"""NOTIFY channel: something may be due."""


@dataclass(frozen=True)
class Addressee:
    """To whom an earlier notification went or will go; not ``reached`` when it has failed."""

    channel: str
    recipient: str
    reached: bool


@dataclass(frozen=True)
class Backlog:
    """How much is not sent; ``oldest`` is the age in seconds of what has waited longest."""

    pending: int
    sending: int
    failed: int
    in_doubt: int
    oldest: float | None


class Outbox:
    """Notifications: stored at once, claimed with a lease, sent, recorded.

    ``max_attempts`` is kept with each notification when it is stored.
    """

    def __init__(self, database: Database, max_attempts: int = 5) -> None:
        self._database = database
        self._max_attempts = max_attempts

    # -- storing ------------------------------------------------------------------------------

    async def enqueue(
        self, channel: str, recipient: str, payload: Mapping[str, Any] | None = None
    ) -> int:
        """Store a notification, wake the dispatchers and return its id; nothing is sent here.

        Raises UsageError for an empty channel or recipient.
        """
        (number,) = await self.enqueue_all([Draft(channel, recipient, payload or {})])
        return number

    async def enqueue_all(self, drafts: Iterable[Draft]) -> list[int]:
        """As ``enqueue``, all or none of them; the ids in their order."""
        async with self._database.transaction() as connection:
            ids = await self.enqueue_in(connection, drafts)
        return sorted(ids.values())

    async def enqueue_in(self, connection: Connection, drafts: Iterable[Draft]) -> dict[UUID, int]:
        """Store notifications in the caller's transaction, in their order; ids by message id.

        They exist when that transaction has been committed, and not otherwise.
        """
        documents = [_document(draft) for draft in drafts]
        if not documents:
            return {}
        rows = queries.enqueue(
            connection, max_attempts=self._max_attempts, drafts=json_text(documents)
        )
        ids = {row["message_id"]: row["id"] async for row in rows}
        await queries.wake(connection)
        return ids

    # -- sending ------------------------------------------------------------------------------

    async def claim(self, limit: int, lease_seconds: float) -> list[Claimed]:
        """Take up to ``limit`` due notifications, oldest first; any number may do so at once.

        What a lost worker has held for longer than its lease is due again first, counted as an
        attempt and marked as in doubt.
        """
        async with self._database.pipelined_transaction() as connection:
            released = await connection.execute(queries.release_expired.sql)
            await connection.execute(queries.bundle.sql)
            rows = queries.claim(connection, max_rows=limit, lease_seconds=lease_seconds)
            claimed = [_claimed(row) async for row in rows]
            expired = [row["id"] async for row in released]
        if expired:
            log.warning("notifications of a lost worker are sent again", ids=expired)
        return sorted(claimed, key=lambda each: each.notification.id)

    async def record_sent(self, lease: Lease) -> bool:
        """Mark it as sent; False, and nothing happens, when the lease was lost."""
        async with self._database.connection() as connection:
            row = await queries.record_sent(connection, id=lease.id, lease=lease.number)
        return row is not None

    async def record_failure(self, lease: Lease, error: str, pause: float | None) -> bool:
        """Have it tried again after ``pause`` seconds, or never (None); False as above."""
        async with self._database.connection() as connection:
            row = await queries.record_failure(
                connection, id=lease.id, lease=lease.number, error=error, pause=pause
            )
        return row is not None

    async def next_due(self) -> float | None:
        """Seconds until something is due, by the database's clock; None when nothing waits."""
        async with self._database.connection() as connection:
            row = await queries.next_due(connection)
        seconds: float | None = row["seconds"]
        return seconds

    async def retry(self, notification_id: int) -> Notification:
        """Have a failed one tried anew, under the same message id.

        Raises NotFoundError, and ConflictError unless it has failed.
        """
        async with self._database.transaction() as connection:
            row = await queries.retry(connection, id=notification_id)
            if row is not None:
                await queries.wake(connection)
                return Notification.from_row(row)
        found = await self.get(notification_id)
        if found.bundled_into is not None:
            raise ConflictError(
                f"notification {notification_id} is told in the message of {found.bundled_into}",
                remedy=f"leitstand notify retry {found.bundled_into}",
            )
        raise ConflictError(
            f"notification {notification_id} is {found.status.value}; only failed ones are retried"
        )

    async def retry_failed(self, channel: str | None = None) -> int:
        """Have all that have failed (on this channel) tried anew, as ``retry``; how many."""
        async with self._database.transaction(deadline=30) as connection:
            row = await queries.retry_failed(connection, channel=channel)
            await queries.wake(connection)
        again: int = row["again"]
        return again

    # -- looking ------------------------------------------------------------------------------

    async def get(self, notification_id: int) -> Notification:
        """The notification; raises NotFoundError."""
        found = await self._list(id=notification_id)
        if not found:
            raise NotFoundError(
                f"there is no notification {notification_id}", remedy="See `leitstand notify list`."
            )
        return found[0]

    async def list_all(
        self,
        status: Status | None = None,
        before: int | None = None,
        limit: int = 50,
        channel: str | None = None,
    ) -> list[Notification]:
        """Notifications, newest first; ``before`` is the id that the page ends above."""
        return await self._list(status=status, before=before, channel=channel, max_rows=limit)

    async def _list(self, **wanted: object) -> list[Notification]:
        every = {"id": None, "status": None, "channel": None, "before": None, "max_rows": 1}
        async with self._database.connection() as connection:
            rows = queries.list_all(connection, **{**every, **wanted})
            return [Notification.from_row(row) async for row in rows]

    async def addressees_in(
        self, connection: Connection, message_ids: Sequence[UUID]
    ) -> dict[UUID, Addressee]:
        """Whom these earlier notifications were for; those that were pruned are left out."""
        rows = queries.audience(connection, message_ids=list(message_ids))
        return {
            row["message_id"]: Addressee(
                row["channel"], row["recipient"], row["status"] != Status.FAILED
            )
            async for row in rows
        }

    async def backlog(self) -> Backlog:
        """How much is not sent."""
        async with self._database.connection() as connection:
            return Backlog(**await queries.counts(connection))

    async def prune(self, older_than: float, batch: int = 1000) -> int:
        """Delete one batch of what ended more than ``older_than`` seconds ago; how many."""
        async with self._database.transaction(deadline=30) as connection:
            row = await queries.prune(connection, older_than=older_than, batch=batch)
        gone: int = row["gone"]
        return gone


def _document(draft: Draft) -> dict[str, Any]:
    if not draft.channel.strip() or not draft.recipient.strip():
        raise UsageError("a notification needs a channel and a recipient")
    return {
        "message_id": str(draft.message_id),
        "channel": draft.channel,
        "recipient": draft.recipient,
        "payload": draft.payload,
        "group_key": draft.group,
    }


def _claimed(row: Mapping[str, Any]) -> Claimed:
    return Claimed(Notification.from_row(row), tuple(row["bundled"] or ()))
