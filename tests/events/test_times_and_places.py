"""What the time of a row, the clocks of servers and the place of a table mean to detectors."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import text

from leitstand.events.detection import webtrees
from leitstand.store.database import Database
from tests.events.log_scene import FAILED, LogScene, log_on_mariadb, log_on_sqlite
from tests.jobs.scene import Scene, control_server, eventually
from tests.mariadb_server import MariaDb


async def test_the_time_of_a_row_decides_nothing(any_log: LogScene) -> None:
    """Cases 9, 12 and 25: the same second, long ago, in the future; only the number counts."""
    log = any_log
    await log.detect()
    times = ["2001-01-01 00:00:00", "2037-01-01 00:00:00", "2001-01-01 00:00:00"]
    for number, moment in enumerate(times * 2):
        at = moment if log.engine.dialect.name != "postgresql" else datetime.fromisoformat(moment)
        await log.log(f"Login: {number}", log_time=at)
        if number % 2:
            await log.detect()
    assert await log.messages() == [f"Login: {number}" for number in range(6)]


async def test_a_server_in_another_zone(database: Database, mariadb: MariaDb) -> None:
    """Case 8: its times are read as UTC, whatever the zone of who wrote them."""
    log = await log_on_mariadb(database, mariadb)
    await log.detect()
    async with log.engine.connect() as connection:
        await connection.execute(text("SET time_zone = '+03:00'"))
        await log.insert(connection, "Login: x")
        await connection.commit()
    await log.detect()
    (event,) = await log.events()
    told = datetime.fromisoformat(event.payload["log_time"])
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=1)


async def test_the_skew_of_clocks_is_shown(any_log: LogScene) -> None:
    """Case 29: nothing is decided by it."""
    await any_log.detect()
    (source,) = await any_log.sources()
    if any_log.keeps_gaps:
        assert source.clock_skew is not None
        assert abs(source.clock_skew) < 60
    else:
        assert source.clock_skew is None, "it is this machine's clock"


async def test_another_table_begins_anew(any_log: LogScene) -> None:
    """Case 16: what is remembered belongs to one table of one database."""
    log = any_log
    await log.log(*["Login: x"] * 5)
    await log.detect()
    moved = replace(log, table=replace(log.table, table="moved_log"))
    await log.execute("ALTER TABLE wt_log RENAME TO moved_log")
    assert (await log.detect()).problem is not None
    assert (await moved.detect()).did == "began anew"
    assert await log.messages() == []
    (reset,) = await log.events("source.reset")
    assert reset.payload["reason"] == "the configuration names another table"


def test_another_password_is_no_other_table() -> None:
    """Whoever exchanges it may not lose what came meanwhile."""
    for before, after in (
        ("host=db dbname=app user=u password=old", "password='n e w' user=v dbname=app host=db"),
        ("mysql://u:old@db/app", "mysql://u:n@w@db/app"),
    ):
        assert identity_at(before) == identity_at(after)
    assert identity_at("host=db dbname=app") != identity_at("host=db dbname=other")


def identity_at(url: str) -> str:
    return webtrees("webtrees", url, "wt_", None).identity


async def test_a_clock_that_was_set_back_stops_nothing(database: Database, tmp_path: Path) -> None:
    """The cool-down ends, whatever the control database's clock says."""
    log = await log_on_sqlite(database, tmp_path)
    await log.detect()
    await log.log("Login: x")
    async with log.database.connection() as connection:
        await connection.execute(
            "UPDATE detection_sources SET last_run_at = last_run_at + interval '1 year'"
        )
    (report,) = await log.detection().run_once()
    assert report.did == "was read"
    assert await log.messages() == ["Login: x"]


async def test_another_column_is_no_other_table(any_log: LogScene) -> None:
    """Whoever has a time shown that was not may not lose what came meanwhile."""
    log = any_log
    columns = replace(log.table.columns, time="")
    before = replace(log, table=replace(log.table, columns=columns))
    await log.log(*["Login: old"] * 9)
    await before.detect()
    await log.log("Login: x")
    assert (await log.detect()).did == "was read"
    await log.log("Login: y")
    assert (await log.detect()).did == "was read"
    assert await log.messages() == ["Login: x", "Login: y"]


async def test_a_wrong_column_is_named(any_log: LogScene) -> None:
    """Case 16: nothing is forgotten while the configuration is wrong."""
    log = any_log
    await log.detect()
    columns = replace(log.table.columns, message="log_massage")
    report = await replace(log, table=replace(log.table, columns=columns)).detect()
    assert report.problem is not None
    assert report.problem.code == "SOURCE_UNFIT"
    assert "log_massage" in str(report.problem.detail)
    await log.log("Login: x")
    await log.detect()
    assert await log.messages() == ["Login: x"]


async def test_a_server_that_is_away_for_days(database: Database, own_mariadb: MariaDb) -> None:
    """The backlog is worked off when it is back; until then the source is unavailable."""
    log = await log_on_mariadb(database, own_mariadb)
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(250)])
    await log.engine.dispose()
    own_mariadb.stop()
    for _ in range(3):
        assert (await log.detect()).problem is not None
    (source,) = await log.sources()
    assert source.state == "unavailable"
    own_mariadb.start()
    assert [sum((await log.detect()).emitted.values()) for _ in range(3)] == [200, 50, 0]
    assert await log.messages() == [f"Login: {number}" for number in range(250)]


async def test_five_wrong_logins_are_one_run(scene: Scene) -> None:
    """Case 31: five events, and a run with the newest payload and their count."""
    log = await log_on_sqlite(scene.database, scene.spool.parent)
    await log.detect()
    await scene.job("tell", event=FAILED)
    await log.log(*[f"Login failed (wrong password): {number}" for number in range(5)])
    await log.detect()
    assert len(await log.events(FAILED)) == 5
    async with control_server(scene):

        async def ended() -> dict[str, object] | None:
            runs = await scene.queue.list_runs("tell")
            return dict(runs[0].event or {}) if runs and runs[0].status.is_final else None

        event = await eventually(ended)
    assert event["count"] == 5
    assert event["payload"] == (await log.events(FAILED))[-1].payload
    assert len(await scene.queue.list_runs("tell")) == 1
