"""Tables as other people have them: older, narrower, missing, closed, locked."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from leitstand.downtimes import Target, open_target
from leitstand.downtimes.backoff import patiently
from leitstand.downtimes.layout import TablesError
from leitstand.downtimes.tables import GATE
from leitstand.downtimes.target import DowntimeDatabaseError, check_url
from leitstand.errors import UsageError
from tests.downtimes.conftest import Scene, execute
from tests.downtimes.core import ADD, START, T, message
from tests.mariadb_server import MariaDb

HISTORY = "statusengine_host_downtimehistory"


async def test_without_entry_time_usec(own_scene: Scene) -> None:
    """Case 24."""
    await execute(own_scene.target, f"DROP TABLE {HISTORY}", OLD_TABLE)
    await own_scene.apply(message(ADD, T - 10, usec=5), message(START, T))
    (row,) = await own_scene.history()
    assert "entry_time_usec" not in row
    assert row["was_started"] == 1
    assert len(await own_scene.views.history(T + 1)) == 1


OLD_TABLE = f"""
    CREATE TABLE {HISTORY} (
        hostname VARCHAR(255) NOT NULL, internal_downtime_id INT NOT NULL,
        scheduled_start_time BIGINT NOT NULL, node_name VARCHAR(255) NOT NULL,
        entry_time BIGINT NOT NULL, author_name VARCHAR(255), comment_data VARCHAR(1024),
        triggered_by_id INT, is_fixed SMALLINT DEFAULT 0, duration INT,
        scheduled_end_time BIGINT NOT NULL, was_started SMALLINT DEFAULT 0,
        actual_start_time BIGINT NOT NULL, actual_end_time BIGINT NOT NULL,
        was_cancelled SMALLINT DEFAULT 0,
        PRIMARY KEY (hostname, node_name, scheduled_start_time, internal_downtime_id))
"""


async def test_three_byte_tables_replace_what_they_cannot_hold(maria: Scene) -> None:
    """Case 4."""
    for table in (HISTORY, "statusengine_host_scheduleddowntimes"):
        await execute(maria.target, f"ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb3")
    await maria.apply(message(ADD, T - 10, comment_data="🔧 Gerät", host_name="müller"))
    for (row,) in (await maria.scheduled(), await maria.history()):
        assert (row["comment_data"], row["hostname"]) == ("� Gerät", "müller")


async def test_latin1_tables(maria: Scene) -> None:
    """Case 4."""
    await execute(maria.target, f"ALTER TABLE {HISTORY} CONVERT TO CHARACTER SET latin1")
    await maria.apply(message(ADD, T - 10, comment_data="🔧 Gerät €"))
    (row,) = await maria.history()
    assert row["comment_data"] == "? Gerät €"


async def test_a_missing_table_is_a_clear_error(url: str) -> None:
    """Case 24."""
    async with open_target(url) as target:
        with pytest.raises(TablesError, match="has no table statusengine_host") as caught:
            await target.prepare()
        assert "leitstand downtime create-tables" in (caught.value.remedy or "")
        await target.create_tables()
        await target.create_tables()
        await target.prepare()


async def test_two_servers_that_start_at_once_both_find_the_tables(url: str) -> None:
    async with open_target(url) as one, open_target(url) as other:
        await asyncio.gather(one.create_tables(), other.create_tables())
        await asyncio.gather(one.prepare(), other.prepare())
        async with one.transaction() as connection:
            assert len((await connection.execute(GATE.select())).all()) == 1


async def test_a_user_who_may_only_look(maria: Scene, mariadb: MariaDb) -> None:
    """Case 24."""
    database = maria.target.engine.url.database
    mariadb.execute(
        f"CREATE USER reader_{database}@'127.0.0.1' IDENTIFIED BY 'pw';"
        f"GRANT SELECT ON {database}.* TO reader_{database}@'127.0.0.1';"
    )
    url = f"mysql://reader_{database}:pw@127.0.0.1:{mariadb.port}/{database}"
    async with open_target(url) as target:
        with pytest.raises(TablesError, match="does not allow what is needed"):
            await target.prepare()


@pytest.fixture
async def other(mariadb_url: str) -> AsyncIterator[Target]:
    """A second client of the database."""
    async with open_target(mariadb_url) as target:
        yield target


async def test_a_read_only_server_is_waited_for(maria: Scene, mariadb: MariaDb) -> None:
    """Case 24."""
    await maria.target.prepare()
    mariadb.execute("SET GLOBAL read_only = 1;")
    try:
        with pytest.raises(DowntimeDatabaseError):
            await maria.apply(message(ADD, T))
    finally:
        mariadb.execute("SET GLOBAL read_only = 0;")
    await maria.apply(message(ADD, T))
    assert len(await maria.scheduled()) == 1


async def test_a_locked_row_is_tried_again(maria: Scene, other: Target, mariadb: MariaDb) -> None:
    """Case 23: error 1205, and then the event is applied once."""
    await maria.apply(message(ADD, T - 10))
    mariadb.execute("SET GLOBAL innodb_lock_wait_timeout = 1;")
    await maria.target.engine.dispose()  # a connection keeps what held when it was made
    tries = 0

    async def attempt() -> None:
        nonlocal tries
        tries += 1
        await maria.apply(message(START, T))

    async with other.engine.begin() as connection:
        await connection.execute(text(f"SELECT * FROM {HISTORY} FOR UPDATE"))
        task = asyncio.create_task(patiently(attempt))
        async with asyncio.timeout(20):
            while tries < 2:
                await asyncio.sleep(0.05)
    await task
    mariadb.execute("SET GLOBAL innodb_lock_wait_timeout = DEFAULT;")
    assert [row["was_started"] for row in await maria.history()] == [1]


async def test_a_connection_that_the_server_closed_is_made_anew(
    maria: Scene, mariadb: MariaDb
) -> None:
    """Case 2: as after an idle night (errors 2006 and 4031)."""
    await maria.apply(message(ADD, T - 10))
    mariadb.execute(f"KILL USER {maria.target.engine.url.username};")
    await maria.apply(message(START, T))
    assert [row["was_started"] for row in await maria.history()] == [1]


@pytest.mark.parametrize("url", ["nonsense", "oracle://x/y", "sqlite:///x"])
def test_urls_of_other_things(url: str) -> None:
    with pytest.raises(UsageError):
        check_url(url)
