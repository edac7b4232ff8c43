"""A control server with a core's queue, as people use it: from a message to all that heeds it."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from websockets.sync.client import connect

from tests.app.installation import Installation
from tests.downtimes.core import ADD, DELETE, START, STOP, RabbitSide, body, message
from tests.downtimes.door import Door
from tests.downtimes.queue_servers import RabbitMq
from tests.mariadb_server import MariaDb
from tests.ports import free_port

SETTINGS = """
[server]
node_name = "core1"

[database]
url = "{control}"

[protection]
enabled = false

[loop]
tick = "200ms"

[downtimes]
source = "amqp://guest:guest@127.0.0.1:{port}/"
database_url = "{tables}"
queue = "{queue}"
exchange = "{exchange}"

[alerts]
default_rules = false

[[alert]]
name = "disk-full"
metric_name = "disk_used_percent"
comparison = "gt"
threshold = 90
recipient = "log"

[[job]]
name = "patch"
kind = "command"
every = "1s"
host = "web01"
params = {{ argv = ["/bin/true"] }}
"""


@pytest.fixture
def core(rabbitmq: RabbitMq) -> RabbitSide:
    """The core's own way to its queue."""
    return rabbitmq.fresh()


@pytest.fixture
def door(rabbitmq: RabbitMq) -> Iterator[Door]:
    """The server's way to the broker."""
    with Door(rabbitmq.port) as door:
        yield door


@pytest.fixture
def place(
    short_dir: Path, conninfo: str, mariadb_url: str, core: RabbitSide, door: Door
) -> Installation:
    """A directory with settings; the tables are there."""
    settings = SETTINGS.format(
        control=conninfo,
        tables=mariadb_url,
        port=door.port,
        queue=core.queue,
        exchange=core.exchange,
    )
    (short_dir / "leitstand.toml").write_text(settings)
    installation = Installation(short_dir, free_port())
    installation.json("downtime", "create-tables")
    return installation


class Life:
    """One downtime of web01 from now on, and the messages of its life."""

    def __init__(self, core: RabbitSide) -> None:
        self._core = core
        self._now = int(time.time())
        self._fields = {"start_time": self._now, "end_time": self._now + 3600}

    def goes_on(self, *kinds: int, attr: int = 0) -> list[dict[str, Any]]:
        """Send a message of each kind, a moment later than those before."""
        self._now += 1
        sent = [message(kind, self._now, attr=attr, **self._fields) for kind in kinds]
        asyncio.run(self._core.publish([body(one) for one in sent]))
        return sent


def test_from_a_message_to_all_that_heeds_it(
    place: Installation, core: RabbitSide, door: Door
) -> None:
    with place.serving() as server:
        assert server.ready, "it starts without a broker"
        assert "downtimes have to wait" in log_of(place)
        door.open()  # here it comes
        token = viewer(place)
        life = Life(core)
        with connect(
            f"ws://127.0.0.1:{place.port}/ws",
            additional_headers={"Authorization": f"Bearer {token}"},
        ) as live:
            live.send(json.dumps({"subscribe": [core_topic()], "acknowledge": True}))
            assert json.loads(live.recv(30))["topic"] == "subscribed"
            sent = life.goes_on(ADD, START)
            assert [json.loads(live.recv(60))["data"] for _ in sent] == sent
        wait_until_in_downtime(place, token)
        assert place.json("downtime", "status", "web01")["in_downtime"]
        assert silenced(place) == [(True, "in downtime: downtime 42 of web01")]
        job = place.wait_for(lambda: postponed(place))
        assert "downtime 42 of web01" in job
        life.goes_on(STOP, DELETE, attr=2)
        wait_until_in_downtime(place, token, wanted=False)
        # An hour before the downtime would have ended.
        place.wait_for(lambda: place.json("run", "list", "--job", "patch", "--status", "succeeded"))
        names = {one["name"] for one in place.json("event", "list")}
        assert names >= {f"downtime.{name}" for name in ("scheduled", "started", "cancelled")}


def test_a_queue_that_changes_its_flags(place: Installation, core: RabbitSide, door: Door) -> None:
    """Case 26: a refusal at the start; later, a clear error until both say the same again."""
    asyncio.run(core.publish([]))
    door.open()
    with place.serving():
        door.close()
        asyncio.run(declare_anew(replace(core, durable=True)))
        door.open()
        said = f"the exchange '{core.exchange}' exists with durable = true"
        place.wait_for(lambda: said in log_of(place))
        refused = replace(place, port=free_port()).run("serve")
        assert refused.code != 0
        assert said in refused.err
        assert "durable_exchange = true" in refused.err
        asyncio.run(declare_anew(core))
        Life(core).goes_on(ADD, START)
        wait_until_in_downtime(place, viewer(place))


def test_it_ends_while_the_database_is_away(
    place: Installation, mariadb: MariaDb, core: RabbitSide, door: Door
) -> None:
    """Case 2: SIGTERM finds it waiting for MariaDB; no message is lost."""
    door.open()
    life = Life(core)
    with place.serving() as server:
        token = viewer(place)
        life.goes_on(ADD)
        with mariadb.away():
            life.goes_on(START)
            place.wait_for(lambda: "downtimes: trying again" in log_of(place))
            server.process.terminate()
            place.must_end(server.process, patience=20)
    with place.starting() as again:
        assert again.stdout is not None
        assert again.stdout.readline()
        wait_until_in_downtime(place, token)


def core_topic() -> str:
    """The topic, whatever the queue is called."""
    return "statusngin_downtimes"


def viewer(place: Installation) -> str:
    """A token of somebody who looks."""
    return place.run("token", "create", "test", "--role", "viewer").out.strip()


def wait_until_in_downtime(place: Installation, token: str, *, wanted: bool = True) -> None:
    """Ask the server, again and again, until the host is in downtime, or not."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{place.port}/api/v1/downtimes/status?host=web01",
        headers={"Authorization": f"Bearer {token}"},
    )

    def is_so() -> bool:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return bool(json.loads(answer.read())["in_downtime"]) is wanted

    place.wait_for(is_so)


def log_of(place: Installation) -> str:
    return (place.directory / "serve.log").read_text()


def silenced(place: Installation) -> list[tuple[bool, str]]:
    """What the rule says of a host that is in downtime."""
    page = place.directory / "page"
    page.write_text('disk_used_percent{host="web01"} 95\n')
    verdicts = place.json("alert", "evaluate", "--from", str(page))
    return [(one["suppressed"], one["reason"]) for one in verdicts]


def postponed(place: Installation) -> str:
    """Why the job does not run, once it does not."""
    said = " ".join(place.json("job", "why", "patch")["answer"])
    return said if "postponed" in said else ""


async def declare_anew(core: RabbitSide) -> None:
    """Delete queue and exchange, and declare them with other flags."""
    async with await aio_pika.connect(core.url) as connection:
        channel = await connection.channel()
        await channel.queue_delete(core.queue)
        await channel.exchange_delete(core.exchange)
    await core.publish([])
