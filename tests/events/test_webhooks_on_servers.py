"""Webhooks at two real servers: a hail of calls, and a server that is killed amid them."""

import asyncio
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import httpx
import psycopg
import pytest
from websockets.asyncio.client import connect

from tests.app.installation import Installation
from tests.conftest import make_short_dir
from tests.events.hail import Answers, hail, plan
from tests.events.hook_scene import SECRET, Sender
from tests.ports import free_port

DOCUMENT = Path(__file__).parents[2] / "docs/webhooks.md"
CALLS = 1_000
FIRST = Counter(["first"])

CONFIGURATION = """
[database]
url = "{conninfo}"

[protection]
enabled = false

[alerts]
enabled = false

[loop]
heartbeat = "1s"
stale_after = "5s"

[[hook]]
name = "shop"
secret_file = "hook-secret"

[[job]]
name = "listen"
kind = "command"
event = "hook:shop"
params = {{ argv = ["cat"] }}
retry = {{ max_attempts = 5, backoff = "1s" }}
"""


@pytest.fixture
def places(conninfo: str) -> Iterator[list[Installation]]:
    """Two installations on one database."""
    directories = [make_short_dir(), make_short_dir()]
    yield [installation(directory, conninfo) for directory in directories]
    for directory in directories:
        rmtree(directory, ignore_errors=True)


def installation(directory: Path, conninfo: str) -> Installation:
    """One that has the hook, and a job that listens to it."""
    (directory / "leitstand.toml").write_text(CONFIGURATION.format(conninfo=conninfo))
    (directory / "hook-secret").write_text(f"{SECRET}\n")
    return Installation(directory, free_port())


def stored(conninfo: str) -> Counter[str]:
    """The ids of the messages that are stored, as payloads have them."""
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute("SELECT payload ->> 'number', message_id FROM events").fetchall()
    assert all(payload == number for payload, number in rows)
    return Counter(number for _, number in rows)


def test_each_call_is_stored_once(places: list[Installation], conninfo: str) -> None:
    """10 % repeat an id, 10 % are signed wrongly; then a server is killed amid further calls."""
    one, two = places
    addresses = [f"http://127.0.0.1:{place.port}" for place in places]
    with one.serving(), two.serving() as second:
        asyncio.run(is_told_live(one, addresses[1]))
        answers = asyncio.run(hail(addresses, plan("a", CALLS, CALLS // 10, CALLS // 10)))
        assert answers.refused == {401: CALLS // 10}
        assert (answers.repeated, answers.broken) == (CALLS // 10, 0)
        assert all_of(answers) + FIRST == stored(conninfo)
        assert len(answers.taken) == CALLS * 8 // 10

        further = plan("b", CALLS // 2, CALLS // 20, 0)
        amid = asyncio.run(hail(addresses, further, amid=second.process.kill))
        assert amid.broken > 0
        assert all_of(answers) + all_of(amid) + FIRST == stored(conninfo)
        assert_a_run_has_it(one, answers, amid)
        assert '"repeated":false' in as_documented(one)
        assert '"repeated":true' in as_documented(one)
    for place in places:
        assert SECRET[6:] not in (place.directory / "serve.log").read_text()


async def is_told_live(place: Installation, elsewhere: str) -> None:
    """A call at one server is heard by whoever listens at the other."""
    token = place.run("token", "create", "listener", "--role", "viewer").out.strip()
    headers = {"Authorization": f"Bearer {token}"}
    address = f"ws://127.0.0.1:{place.port}/ws"
    async with (
        asyncio.timeout(30),
        connect(address, additional_headers=headers) as client,
        httpx.AsyncClient(base_url=elsewhere) as sender,
    ):
        await client.send(json.dumps({"subscribe": ["events"], "acknowledge": True}))
        assert json.loads(await client.recv())["topic"] == "subscribed"
        (number,) = FIRST
        answer = await Sender(sender).send(number, {"number": number})
        heard = json.loads(await client.recv())["data"]
    assert (heard["id"], heard["name"]) == (answer.json()["event"], "hook:shop")


def as_documented(place: Installation) -> str:
    """What the script in docs/webhooks.md prints that signs and sends a call."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    for there, here in (
        ("/run/secrets/shop-hook", f"{place.directory}/hook-secret"),
        ("http://localhost:8080", f"http://127.0.0.1:{place.port}"),
    ):
        assert there in script
        script = script.replace(there, here)
    done = subprocess.run(
        ["/bin/sh", "-eu", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def all_of(answers: Answers) -> Counter[str]:
    """Each id that was answered with 202, once."""
    return Counter(answers.taken.keys())


def assert_a_run_has_it(place: Installation, *answers: Answers) -> None:
    """The job that listens has been told of all of them, by runs that got the payload."""

    def told() -> list[dict[str, object]]:
        runs = place.json("run", "list", "--job", "listen", "--status", "succeeded", "-n", "10000")
        return [run["trigger"]["event"] for run in runs]

    wanted = sum(len(each.taken) for each in answers) + len(FIRST)
    place.wait_for(lambda: sum(int(str(each["count"])) for each in told()) == wanted)
    run = place.json("run", "list", "--job", "listen")[0]
    payload = run["trigger"]["event"]["payload"]
    assert payload["number"] in answers[-1].taken
    assert payload["number"] in place.run("run", "logs", str(run["id"])).out
