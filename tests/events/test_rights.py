"""What reaches the application's database, and the rights that suffice there."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from leitstand.store.database import Database
from tests.events.log_scene import LogScene, log_on_mariadb, log_on_postgres
from tests.mariadb_server import PASSWORD, MariaDb


@pytest.fixture(params=["mariadb", "postgres"])
async def log(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[LogScene]:
    """A log table whose detectors' user may SELECT from it, and nothing else."""
    if request.param == "mariadb":
        server: MariaDb = request.getfixturevalue("mariadb")
        scene = await log_on_mariadb(database, server, "only")
        server.execute(
            f"CREATE USER only@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
            f"GRANT SELECT ON {scene.engine.url.database}.wt_log TO only@'127.0.0.1'"
        )
        yield scene
        server.execute("DROP USER only@'127.0.0.1'")
        return
    scene = await log_on_postgres(database, request.getfixturevalue("postgres"), "selects")
    await scene.execute("CREATE ROLE selects LOGIN", "GRANT SELECT ON wt_log TO selects")
    yield scene
    await scene.execute("DROP OWNED BY selects", "DROP ROLE selects")


async def test_select_rights_suffice(log: LogScene) -> None:
    """Late rows and dead numbers are told apart by evidence with these rights, too."""
    with pytest.raises(Exception, match=r"(?i)denied"):
        await replace(log, engine=log.readers_engine()).log("Login: intruder")
    await log.detect()
    async with log.open_transaction("Login: slow") as slow, log.open_transaction("Login: never"):
        await log.log("Login: fast")
        await log.detect()
        assert await log.open_ids() > 0
        await slow.commit()
    for _ in range(3):
        assert (await log.detect()).problem is None
    assert sorted(await log.messages()) == ["Login: fast", "Login: slow"]
    assert await log.open_ids() == 0
    (source,) = await log.sources()
    assert source.dead_ids >= 1


async def test_nobody_listens_and_no_query_comes(database: Database, mariadb: MariaDb) -> None:
    """The server's own general log has nothing, not even a connection."""
    log = await log_on_mariadb(database, mariadb)
    await log.detect()
    await log.log("Login: x")
    mariadb.execute("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON")
    try:
        heard, log.listened = log.listened, set()
        mariadb.execute("TRUNCATE mysql.general_log")
        for _ in range(5):
            assert (await log.detect()).did == "nobody listens"
        assert asked_of(mariadb) == 0
        log.listened = heard
        assert (await log.detect()).did == "was read"
        assert asked_of(mariadb) > 5
    finally:
        mariadb.execute("SET GLOBAL general_log = OFF")


def asked_of(server: MariaDb) -> int:
    """What the detectors' user has sent, connections included."""
    return int(
        server.execute("SELECT count(*) FROM mysql.general_log WHERE user_host LIKE '%leitstand%'")
    )
