"""Fixtures of the downtime tests: real servers, and databases with the tables."""

import itertools
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text

from leitstand.downtimes import Target, Views, open_target
from leitstand.downtimes.applier import Applier, Outcome
from leitstand.downtimes.dead_letters import DeadLetters
from leitstand.downtimes.downtime import Event
from leitstand.downtimes.intake import Intake, Listeners
from leitstand.downtimes.message import decode
from leitstand.downtimes.tables import LEDGER, NEWS, STATUSENGINE
from leitstand.store.database import Database
from tests.conftest import TEMPLATE, Postgres, make_short_dir
from tests.downtimes.core import body
from tests.downtimes.queue_servers import Gearmand, RabbitMq
from tests.mariadb_server import MariaDb

NODE = "core1"
numbers = itertools.count()


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMq]:
    """A RabbitMQ for the whole session."""
    directory = make_short_dir()
    server = RabbitMq(directory / "mq")
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def gearmand() -> Iterator[Gearmand]:
    """A gearmand for one test: nothing is left in its queues."""
    directory = make_short_dir()
    server = Gearmand(directory)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def mariadb_url(mariadb: MariaDb) -> Iterator[str]:
    """A database of the test's own, without tables."""
    name = f"downtimes_{next(numbers)}"
    yield mariadb.create_database(name)
    mariadb.drop_database(name)


@pytest.fixture
def postgres_url(conninfo: str) -> str:
    """The test's own database as the target."""
    return url_of(conninfo)


def url_of(conninfo: str) -> str:
    """A connection string as a URL."""
    parts = conninfo_to_dict(conninfo)
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}"


@pytest.fixture(params=["mariadb", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """A database of the test's own without the tables, of either kind."""
    name = "mariadb_url" if request.param == "mariadb" else "postgres_url"
    found: str = request.getfixturevalue(name)
    return found


@pytest.fixture(scope="session")
def common_conninfo(postgres: Postgres) -> str:
    """A control database for the session."""
    postgres.create_database("downtimes", TEMPLATE)
    return postgres.conninfo("downtimes")


@pytest.fixture(scope="session")
def common_mariadb(mariadb: MariaDb) -> str:
    """A database for the session."""
    return mariadb.create_database("downtimes")


@pytest.fixture(params=["mariadb", "postgresql"])
def common_url(request: pytest.FixtureRequest, common_conninfo: str) -> str:
    """A database for the session, of either kind."""
    if request.param == "postgresql":
        return url_of(common_conninfo)
    found: str = request.getfixturevalue("common_mariadb")
    return found


@dataclass(frozen=True)
class Scene:
    """A database with the tables, and everything that works on it."""

    target: Target
    applier: Applier
    views: Views
    dead_letters: DeadLetters

    async def apply(self, *messages: dict[str, Any]) -> list[Outcome]:
        """Apply messages, all of them good, in one batch."""
        return await self.applier.apply(events(*messages))

    async def one_by_one(self, *messages: dict[str, Any]) -> list[Outcome]:
        """Apply messages, each in a transaction of its own."""
        return [outcome for one in messages for outcome in await self.apply(one)]

    def intake(self, listeners: Listeners | None = None, node: str = NODE) -> Intake:
        """An intake of messages for the tables."""
        heralded = listeners is not None and listeners.herald is not None
        applier = Applier(self.target, node, leaves_news=heralded)
        return Intake(applier, self.dead_letters, "test", listeners)

    async def rows(self, table: str, kind: str = "host") -> list[dict[str, Any]]:
        """The rows of ``scheduleddowntimes`` or ``downtimehistory``."""
        return await rows(self.target, f"statusengine_{kind}_{table}")

    async def scheduled(self, kind: str = "host") -> list[dict[str, Any]]:
        """The rows of the scheduled downtimes."""
        return await self.rows("scheduleddowntimes", kind)

    async def history(self, kind: str = "host") -> list[dict[str, Any]]:
        """The rows of the history."""
        return await self.rows("downtimehistory", kind)

    async def everything(self) -> list[list[dict[str, Any]]]:
        """All rows of the four tables."""
        kinds = ("host", "service")
        return [
            *[await self.scheduled(kind) for kind in kinds],
            *[await self.history(kind) for kind in kinds],
        ]


def events(*messages: dict[str, Any]) -> list[Event]:
    """Messages as events; each must be good."""
    found = [one for message in messages for one in decode(body(message))]
    assert all(isinstance(one, Event) for one in found), found
    return [one for one in found if isinstance(one, Event)]


async def rows(target: Target, table: str) -> list[dict[str, Any]]:
    """All rows of a table, in the order of the key."""
    key = "hostname, node_name, scheduled_start_time, internal_downtime_id"
    if "service" in table:
        key = f"hostname, service_description, {key}"
    async with target.engine.connect() as connection:
        found = await connection.execute(text(f"SELECT * FROM {table} ORDER BY {key}"))
        return [dict(row) for row in found.mappings()]


async def execute(target: Target, *statements: str) -> None:
    """Run statements in one transaction."""
    async with target.engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement))


@pytest.fixture
async def letters(common_conninfo: str) -> AsyncIterator[DeadLetters]:
    """No dead letters."""
    async with Database(common_conninfo) as database:
        async with database.transaction() as connection:
            await connection.execute("DELETE FROM downtime_dead_letters")
        yield DeadLetters(database)


@pytest.fixture
async def scene(common_url: str, letters: DeadLetters) -> AsyncIterator[Scene]:
    """A scene on either kind of database; the tables are empty, and must be left as they are."""
    async with open_target(common_url) as target:
        await target.create_tables()
        await empty(target)
        yield scene_of(target, letters)


@pytest.fixture
async def own_scene(url: str, letters: DeadLetters) -> AsyncIterator[Scene]:
    """The same with tables of the test's own."""
    async with open_target(url) as target:
        await target.create_tables()
        yield scene_of(target, letters)


@pytest.fixture
async def maria(mariadb_url: str, letters: DeadLetters) -> AsyncIterator[Scene]:
    """A scene on MariaDB with tables of the test's own."""
    async with open_target(mariadb_url) as target:
        await target.create_tables()
        yield scene_of(target, letters)


def scene_of(target: Target, letters: DeadLetters) -> Scene:
    return Scene(target, Applier(target, NODE), Views(target), letters)


async def empty(target: Target) -> None:
    """Delete all downtimes and what is known of them."""
    await execute(target, *(f"DELETE FROM {table.name}" for table in (*STATUSENGINE, LEDGER, NEWS)))
