"""How control servers are, by the age of their heartbeats, and who takes runs."""

import psycopg
import pytest

from leitstand.jobs import Records, Servers, ServerState, explain, why_nothing_starts
from leitstand.jobs.server_state import server_state
from leitstand.store.database import Database
from tests.jobs.scene import Scene


@pytest.mark.parametrize(
    ("silent_for", "draining", "state"),
    [
        (0, False, "alive"),
        (90, False, "alive"),
        (91, False, "stale"),
        (300, True, "stale"),
        (301, True, "gone"),
        (301, False, "gone"),
        (0, True, "draining"),
    ],
)
def test_silence_outweighs_what_was_asked_for(
    silent_for: float, draining: bool, state: str
) -> None:
    assert server_state(silent_for, draining, heartbeat=30, stale_after=300) == state


def test_stale_never_lasts_longer_than_the_lease() -> None:
    assert server_state(50, False, heartbeat=30, stale_after=40) is ServerState.GONE


async def registered(database: Database, conninfo: str, **silent: int) -> Servers:
    servers = Servers(database)
    for instance, seconds in silent.items():
        await servers.register(instance, "host", 1, "test", 4)
        with psycopg.connect(conninfo) as connection:
            connection.execute(
                "UPDATE servers SET heartbeat_at = now() - make_interval(secs => %s)"
                " WHERE instance = %s",
                (seconds, instance),
            )
    return servers


async def test_the_list_says_how_each_is(database: Database, conninfo: str) -> None:
    servers = await registered(database, conninfo, alive=1, stale=120, gone=4000, draining=1)
    await servers.drain("draining")
    found = {server.instance: server for server in await servers.list_all()}
    assert {name: server.state.value for name, server in found.items()} == {n: n for n in found}
    assert found["gone"].as_dict()["state"] is ServerState.GONE
    assert why_nothing_starts(list(found.values())) is None


async def test_why_names_the_servers_that_take_nothing(scene: Scene, conninfo: str) -> None:
    await scene.job()
    run = await scene.queue.request("job")
    servers = await registered(scene.database, conninfo)
    records = Records(scene.jobs, scene.queue, servers=servers)
    said = (await explain(records, "job")).sentences
    assert said[0] == "No control server is running, so nothing starts."
    await registered(scene.database, conninfo, a=4000)
    said = (await explain(records, "job")).sentences
    assert said[0].endswith("so nothing starts; the last was heard of 1 h 6 min ago.")
    await registered(scene.database, conninfo, b=1, c=121)
    said = (await explain(records, "job")).sentences
    waits = f"Run {run.id} waits for a free slot, its group, or the end of the run before it."
    assert waits in said
    await servers.drain("b")
    said = (await explain(records, "job")).sentences
    assert said[0].startswith(
        "No control server takes runs at the moment: b is draining, c is silent for 2 min"
    )
    assert f"Run {run.id} waits for a control server." in said
