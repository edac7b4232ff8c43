"""The stream of messages: in order, to all servers, again after a gap, only to whoever may."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from leitstand.access import Role
from leitstand.live import MessageLedger, Outbox
from leitstand.store.database import Database
from leitstand.web.live_socket import FORBIDDEN, UNAUTHENTICATED, WRONG_MESSAGE
from tests.jobs.scene import control_server, scene_on
from tests.live.scene import PATIENCE, TOPIC, LiveServer, broadcast, heard, live_server
from tests.web.scene import OWN_PAGE

ASK = {"subscribe": ["runs"], "acknowledge": True}


@pytest.fixture
async def server(conninfo: str, tmp_path: Path) -> AsyncIterator[LiveServer]:
    async with live_server(conninfo, tmp_path) as server:
        yield server


async def numbers(client: Any, count: int) -> list[int]:
    return [(await heard(client))["data"]["n"] for _ in range(count)]


async def test_what_is_published_reaches_all_servers_in_order(
    conninfo: str, database: Database, tmp_path: Path, server: LiveServer
) -> None:
    async with (
        live_server(conninfo, tmp_path, server.token) as other,
        server.client() as here,
        other.client() as there,
    ):
        for n in range(20):
            await broadcast(database).publish(TOPIC, {"n": n, "text": "ü\u0001"})
        first = await heard(here)
        assert set(first) == {"id", "topic", "time", "data"}
        assert first["time"].endswith("Z")
        assert first["data"] == {"n": 0, "text": "ü\u0001"}
        assert await numbers(here, 19) == list(range(1, 20))
        assert await numbers(there, 20) == list(range(20))


async def test_a_client_that_asks_for_nothing_else_gets_messages_alone(
    database: Database, server: LiveServer
) -> None:
    """No answer to the subscription comes before them."""
    await broadcast(database).publish(TOPIC, {"n": 1})
    async with server.connection() as client:
        await client.send(json.dumps({"subscribe": [TOPIC], "after": 0}))
        await broadcast(database).publish(TOPIC, {"n": 2})
        assert await numbers(client, 2) == [1, 2]


async def test_only_what_was_asked_for_comes(database: Database, server: LiveServer) -> None:
    async with server.client(subscribe=["runs"]) as client:
        await broadcast(database).publish(TOPIC, {"n": 1})
        await broadcast(database).publish("runs", {"n": 2})
        assert await numbers(client, 1) == [2]
        await client.send(json.dumps({"subscribe": [TOPIC, "events"], "acknowledge": True}))
        assert (await heard(client))["data"] == {"topics": ["events", TOPIC]}
        await broadcast(database).publish("runs", {"n": 3})
        await broadcast(database).publish(TOPIC, {"n": 4})
        assert await numbers(client, 1) == [4]


async def test_a_transaction_publishes_when_it_commits_or_not_at_all(
    database: Database, server: LiveServer
) -> None:
    async with server.client() as client:
        with pytest.raises(ZeroDivisionError):
            async with database.transaction() as connection:
                await broadcast(database).publish_in(connection, TOPIC, {"n": 1})
                raise ZeroDivisionError
        async with database.transaction() as connection:
            await broadcast(database).publish_in(connection, TOPIC, {"n": 2}, {"n": 3})
        assert await numbers(client, 2) == [2, 3]


async def test_ids_come_in_the_order_of_commits(database: Database, server: LiveServer) -> None:
    """A transaction that commits late is not overtaken: whoever saw an id saw all before it."""
    async with server.client() as client:
        async with database.transaction() as slow:
            await broadcast(database).publish_in(slow, TOPIC, {"n": 1})
            quick = asyncio.create_task(broadcast(database).publish(TOPIC, {"n": 2}))
            await waits_for_its_turn(database)
        await quick
        assert await numbers(client, 2) == [1, 2]


async def waits_for_its_turn(database: Database) -> None:
    query = b"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with asyncio.timeout(PATIENCE), database.connection() as connection:
        while not await (await connection.execute(query)).fetchall():
            await asyncio.sleep(0.01)


async def test_what_was_missed_comes_first(database: Database, server: LiveServer) -> None:
    async with server.client() as client:
        await broadcast(database).publish_all(TOPIC, [{"n": n} for n in range(1200)])
        seen = (await heard(client))["id"]
    await broadcast(database).publish("runs", {"n": 0})
    async with server.client(after=seen) as client:
        await broadcast(database).publish(TOPIC, {"n": 1200})
        assert await numbers(client, 1200) == list(range(1, 1201))


async def test_what_is_no_longer_there_is_said(database: Database, server: LiveServer) -> None:
    await broadcast(database).publish_all(TOPIC, [{"n": n} for n in range(5)])
    async with database.connection() as connection:
        await connection.execute("DELETE FROM live_messages WHERE id <= 3")
    async with server.client(after=3) as client:
        assert await numbers(client, 2) == [3, 4]
    for after, follows in ((1, [3, 4]), (99, [])):
        async with server.client(after=after) as client:
            gap = await heard(client)
            assert (gap["topic"], gap["data"]) == ("gap", {"after": after})
            assert await numbers(client, len(follows)) == follows
    async with database.connection() as connection:
        await connection.execute("DELETE FROM live_messages")
    async with server.client(after=3) as client:
        assert (await heard(client))["topic"] == "gap"
        await broadcast(database).publish(TOPIC, {"n": 5})
        assert (await heard(client))["id"] == 6


async def test_messages_go_away(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MessageLedger(database)
    monkeypatch.setattr("leitstand.live.message_ledger.KEEP_COUNT", 10)
    await broadcast(database).publish_all(TOPIC, [{"n": n} for n in range(30)])
    await ledger.prune()
    assert (await ledger.bounds()).oldest == 21
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE live_messages SET time = now() - interval '11 minutes' WHERE id < 26"
        )
    await ledger.prune()
    assert (await ledger.bounds()).oldest == 26


async def test_a_lost_listener_loses_nothing(
    conninfo: str, database: Database, server: LiveServer
) -> None:
    async with server.client() as client:
        await broadcast(database).publish(TOPIC, {"n": 1})
        assert await numbers(client, 1) == [1]
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
            await broadcast(database).publish(TOPIC, {"n": 2})
        assert await numbers(client, 1) == [2]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("{", WRONG_MESSAGE),
        ("[]", WRONG_MESSAGE),
        (b"\xff", WRONG_MESSAGE),
        ('{"subscribe": []}', WRONG_MESSAGE),
        ('{"subscribe": ["odd"]}', WRONG_MESSAGE),
        ('{"subscribe": ["runs"], "after": -1}', WRONG_MESSAGE),
        ('{"subscribe": ["runs"]}', UNAUTHENTICATED),
        ('{"subscribe": ["runs"], "token": "lst_wrong"}', UNAUTHENTICATED),
    ],
)
async def test_who_may_not_listen_is_told_why(
    server: LiveServer, said: str | bytes, code: int
) -> None:
    async with connect(server.address) as client:
        await client.send(said)
        with pytest.raises(ConnectionClosed):
            await heard(client)
        assert client.close_code == code


async def test_who_says_nothing_is_sent_away(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leitstand.web.live_socket.FIRST_WORD", 0.1)
    async with connect(server.address) as client:
        with pytest.raises(ConnectionClosed):
            await heard(client)
        assert (client.close_code, client.close_reason) == (WRONG_MESSAGE, "nothing was asked for")


async def test_a_token_may_come_with_the_first_message(server: LiveServer) -> None:
    async with connect(server.address) as client:
        await client.send(json.dumps({**ASK, "token": server.token}))
        assert (await heard(client))["topic"] == "subscribed"


async def test_a_browser_may_listen_from_our_own_pages_only(server: LiveServer) -> None:
    access = server.web.controls.access
    link = await access.create_link(Role.VIEWER, "root", 60.0)
    session = await access.session_by_link(link.encode(), 60.0)
    cookie = {"Cookie": f"leitstand_session={session}"}
    for headers, topic in ((OWN_PAGE, "subscribed"), ({"Origin": "http://evil.example"}, None)):
        async with connect(server.address, additional_headers={**cookie, **headers}) as client:
            await client.send(json.dumps(ASK))
            if topic is not None:
                assert (await heard(client))["topic"] == topic
                continue
            with pytest.raises(ConnectionClosed):
                await heard(client)
            assert client.close_code == FORBIDDEN


async def test_a_token_that_is_revoked_ends_its_streams(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leitstand.web.live_socket.LOOK_AGAIN", 0.1)
    async with server.client() as client:
        await server.web.controls.access.revoke_token("viewer")
        with pytest.raises(ConnectionClosed):
            await heard(client)
        assert client.close_code == UNAUTHENTICATED


async def test_every_change_of_a_run_is_told(
    conninfo: str, database: Database, tmp_path: Path, server: LiveServer
) -> None:
    ledger = MessageLedger(database)
    outbox = Outbox("runs", broadcast(database), ledger)
    scene = scene_on(database, tmp_path, tell=lambda change: outbox.add(change.as_dict()))
    await scene.job("job")
    publishing = asyncio.create_task(outbox.run())
    async with server.client(subscribe=["runs"]) as client, control_server(scene):
        run = await scene.queue.request("job")
        changes = [(await heard(client))["data"] for _ in range(3)]
    publishing.cancel()
    await asyncio.gather(publishing, return_exceptions=True)
    assert [change["status"] for change in changes] == ["queued", "running", "succeeded"]
    assert {change["id"] for change in changes} == {run.id}
    assert changes[0] == {
        "id": run.id,
        "job": "job",
        "kind": "noop",
        "attempt": 1,
        "status": "queued",
        "error_code": None,
    }


async def test_nothing_is_published_that_nobody_wants(database: Database) -> None:
    ledger = MessageLedger(database)
    outbox = Outbox("runs", broadcast(database), ledger)
    outbox.add({"n": 1})
    await outbox.flush()
    assert (await ledger.bounds()).oldest is None
    await ledger.want(["runs"])
    outbox.add({"n": 2})
    await outbox.flush()
    (message,) = await ledger.after(0)
    assert message.data == {"n": 2}
