"""The ledger of messages: the only code that reads and writes live_messages and live_wanted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from leitstand.live.message import Message
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

CHANNEL = "leitstand_live"
"""NOTIFY channel; the payload is the id of the newest message."""

LOCK = 0x4C53_0010
"""Advisory lock of whoever adds messages ("LS" and a number)."""

KEEP_SECONDS = 600.0
KEEP_COUNT = 20_000
"""What a client may have missed and still get: not older than the one, not more than the other."""

PAGE = 500
"""Messages that are read at once."""


@dataclass(frozen=True)
class Bounds:
    """The id of the oldest message that is kept (None: none is), and the newest id ever given."""

    oldest: int | None
    newest: int


class MessageLedger:
    """Messages in the order in which they were committed, which is that of their ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append_in(self, connection: Connection, topic: str, data: Sequence[Any]) -> None:
        """Add messages in the caller's transaction, and wake all servers when it commits.

        From here to the commit nobody else can add any, so let it be the transaction's last act.
        """
        await connection.execute(queries.take_turn.sql, {"lock": LOCK})
        await queries.append(connection, topic=topic, messages=to_jsonb(list(data)))

    async def after(self, message_id: int) -> list[Message]:
        """The next messages of all topics, up to 500."""
        async with self._database.connection() as connection:
            rows = queries.after(connection, after=message_id, max_rows=PAGE)
            return [Message(**row) async for row in rows]

    async def missed(self, after: int, upto: int, topics: Collection[str]) -> list[Message]:
        """The next messages of these topics between two ids, up to 500."""
        async with self._database.connection() as connection:
            rows = queries.after_on(
                connection, after=after, upto=upto, topics=list(topics), max_rows=PAGE
            )
            return [Message(**row) async for row in rows]

    async def bounds(self) -> Bounds:
        """What is there."""
        async with self._database.connection() as connection:
            row = await queries.bounds(connection)
        return Bounds(row["oldest"], row["newest"])

    async def want(self, topics: Collection[str]) -> None:
        """Note that somebody listens to the topics, and may come back after a gap."""
        async with self._database.connection() as connection:
            await queries.want(connection, topics=list(topics), lifetime=KEEP_SECONDS)

    async def wanted(self, topic: str) -> bool:
        """Whether anybody listens to the topic, at any server, or has a short while ago."""
        async with self._database.connection() as connection:
            row = await queries.is_wanted(connection, topic=topic)
        wanted: bool = row["wanted"]
        return wanted

    async def prune(self) -> None:
        """Delete what is too old or too much."""
        async with self._database.connection() as connection:
            await queries.prune(connection, keep_count=KEEP_COUNT, keep_seconds=KEEP_SECONDS)
