"""Log tables on MariaDB, PostgreSQL and SQLite: nothing is lost, nothing is told twice."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from leitstand.events.detection import DetectionLedger
from leitstand.events.detection import detection as detection_module
from leitstand.store.database import Database
from tests.conftest import Postgres
from tests.events.log_scene import ERROR, FAILED, LOGIN, NAMES, LogScene, log_on_postgres
from tests.jobs.scene import eventually

WIDENED = {
    "mysql": "ALTER TABLE wt_log MODIFY log_id bigint NOT NULL AUTO_INCREMENT",
    "postgresql": "ALTER TABLE wt_log ALTER log_id TYPE bigint",
}


@pytest.fixture
def log(any_log: LogScene) -> LogScene:
    """Each kind of database in turn."""
    return any_log


async def test_what_each_row_means(log: LogScene) -> None:
    """The mapping of webtrees' messages to events; what comes after the beginning is no event."""
    assert (await log.detect()).did == "began"
    rows = [
        ("auth", "Login failed: admin/Admin\nLogin: admin/Admin", "cronjob:log-auth-failed"),
        ("auth", "Login failed (no session cookies): x", "cronjob:log-auth-failed"),
        ("auth", "Login: admin/Admin", "cronjob:log-auth-login"),
        ("auth", "Logout: admin/Admin", "cronjob:log-auth-logout"),
        ("auth", "Login (app, QR-Code): u/r", None),
        ("auth", "login: admin", None),
        ("auth", "Password reset", None),
        ("error", "Exception: Login: x", "cronjob:log-error"),
        ("edit", "Update: I1", "cronjob:log-edit-update"),
        ("edit", "Delete: I1", "cronjob:log-edit-delete"),
        ("edit", "Login: x", None),
        ("search", "General: x", "cronjob:log-search"),
        ("media", "Login: x", None),
    ]
    for kind, message, _ in rows:
        await log.log(message, kind=kind, user_id=7)
    report = await log.detect()
    told = [(event.name, event.payload["log_message"]) for event in await log.events()]
    assert sorted(told) == sorted((name, text) for _, text, name in rows if name)
    assert sum(report.emitted.values()) == len(told)
    for event in await log.events():
        assert event.payload["user_id"] == 7
        assert "gedcom_id" not in event.payload
        assert event.payload["log_time"]
        assert event.source == "log:webtrees"


async def test_what_is_there_at_the_beginning_is_old(log: LogScene) -> None:
    """Cases 7 and 27: no replay, and an idle table gives nothing however often it is read."""
    await log.log(*["Login: old"] * 50)
    await log.detect()
    for _ in range(10):
        assert sum((await log.detect()).emitted.values()) == 0
    await log.log("Login: new")
    await log.detect()
    assert await log.messages() == ["Login: new"]


async def test_many_old_rows_cost_a_look_at_an_index(
    database: Database, postgres: Postgres
) -> None:
    """Core case 69: the first run tells nothing, and looks at some of the last rows alone."""
    log = await log_on_postgres(database, postgres)
    await log.execute(
        f"INSERT INTO {log.table.table} (log_type, log_message)"
        " SELECT 'auth', 'Login: old' FROM generate_series(1, 200000)",
        f"ANALYZE {log.table.table}",
    )
    assert sum((await log.detect()).emitted.values()) == 0

    async def looked() -> tuple[int, int] | None:
        query = (
            "SELECT coalesce(idx_scan, 0), coalesce(idx_tup_fetch, 0) + seq_tup_read"
            f" FROM pg_stat_user_tables WHERE relname = '{log.table.table}'"
        )
        async with log.engine.connect() as connection:
            scans, rows = (await connection.execute(text(query))).one()
        return (scans, rows) if scans else None  # the server counts a moment later

    assert (await eventually(looked))[1] <= 1000
    assert await log.messages() == []


async def test_a_flood_is_worked_off_over_several_runs(log: LogScene) -> None:
    """Case 20: at most 200 a run and detector, in order, each once."""
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(450)])
    await log.log("Logout: x")
    emitted = [(await log.detect()).emitted for _ in range(4)]
    assert [each[LOGIN] for each in emitted] == [200, 200, 50, 0]
    assert sum(each["cronjob:log-auth-logout"] for each in emitted) == 1
    assert await log.messages(LOGIN) == [f"Login: {number}" for number in range(450)]


async def test_who_is_not_listened_to_catches_up_later(log: LogScene) -> None:
    await log.detect()
    log.listened = {FAILED}
    await log.log("Login: 1", "Login failed: 1")
    await log.detect()
    assert await log.messages() == ["Login failed: 1"]
    log.listened = {FAILED, LOGIN}
    await log.log("Login: 2")
    await log.detect()
    assert await log.messages(LOGIN) == ["Login: 1", "Login: 2"]


async def test_who_is_listened_to_for_the_first_time_begins_there(log: LogScene) -> None:
    log.listened = {FAILED}
    await log.detect()
    await log.log("Login: 1")
    log.listened = {FAILED, LOGIN}
    await log.detect()
    await log.log("Login: 2")
    await log.detect()
    assert await log.messages(LOGIN) == ["Login: 2"]


async def test_rows_that_are_deleted_are_no_reset(log: LogScene) -> None:
    await log.log(*["Login: x"] * 20)
    await log.detect()
    await log.execute("DELETE FROM wt_log WHERE log_id BETWEEN 3 AND 15")
    await log.log("Login: y")
    assert (await log.detect()).did == "was read"
    assert await log.messages() == ["Login: y"]


async def test_an_emptied_table_is_a_reset(log: LogScene) -> None:
    await log.log(*["Login: x"] * 20)
    await log.detect()
    await log.execute("DROP TABLE wt_log")
    await log.create()
    await log.log("Login: old")
    assert (await log.detect()).did == "began anew"
    await log.log("Login: new")
    await log.detect()
    assert await log.messages() == ["Login: new"]
    (reset,) = await log.events("source.reset")
    assert reset.payload["reason"] == "the highest row is 1, and has been 20"
    assert (await log.status())["resets"] == 1


async def test_other_rows_under_the_same_numbers_are_a_reset(log: LogScene) -> None:
    await log.log(*["Login: x"] * 20)
    await log.detect()
    await log.execute("DROP TABLE wt_log")
    await log.create()
    await log.log(*["Login: restored"] * 30)
    assert (await log.detect()).did == "began anew"
    assert await log.messages() == []


async def test_rows_that_told_nothing_yet_may_go(log: LogScene) -> None:
    """A backlog is known in full, and goes on when the newest of it are deleted."""
    log.listened = {LOGIN}
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(2500)])
    await log.detect()
    (source,) = await log.sources()
    (login,) = source.detectors
    assert (source.highest, login.checkpoint, login.behind) == (2500, 200, 2300)
    await log.execute("DELETE FROM wt_log WHERE log_id > 210")
    assert (await log.detect()).emitted[LOGIN] == 10
    (source,) = await log.sources()
    assert (source.highest, source.resets) == (210, 0)


async def test_somebody_resets_a_source(log: LogScene) -> None:
    """Case 30: epoch, checkpoint and gaps together; the event says who it was."""
    await log.detect()
    await log.log("Login: 1")
    epoch = await DetectionLedger(log.database).reset("webtrees", "anna")
    assert (epoch, await log.open_ids()) == (2, 0)
    assert (await log.detect()).did == "began"
    await log.log("Login: 2")
    await log.detect()
    assert await log.messages() == ["Login: 2"]
    (reset,) = await log.events("source.reset")
    assert reset.payload["by"] == "anna"


async def test_a_table_that_is_gone_for_a_while(log: LogScene) -> None:
    """An upgrade of the application: the source is unavailable, its state is kept."""
    await log.detect()
    await log.execute("ALTER TABLE wt_log RENAME TO wt_away")
    report = await log.detect()
    assert report.problem is not None
    assert "no table wt_log" in str(report.problem)
    assert (await log.status())["state"] == "unavailable"
    await log.execute("INSERT INTO wt_away (log_type, log_message) VALUES ('auth', 'Login: x')")
    await log.execute("ALTER TABLE wt_away RENAME TO wt_log")
    await log.detect()
    assert await log.messages() == ["Login: x"]
    assert (await log.status())["state"] == "watched"


async def test_messages_of_any_length_and_kind(log: LogScene) -> None:
    """Core case 70: 250 characters, one more, and none cut in two; a megabyte; what is no text."""
    await log.detect()
    base = "Login: " + "x" * 242
    texts = {
        base + "y": base + "y",
        base + "yz": base + "y",
        base + "\N{GRINNING FACE}z": base + "\N{GRINNING FACE}",
        base + "e\N{COMBINING ACUTE ACCENT}": base,
        "Login: " + "m" * 1_000_000: "Login: " + "m" * 243,
    }
    await log.log(*texts)
    await log.detect()
    assert await log.messages() == list(texts.values())


async def test_a_broken_source_stops_no_other(log: LogScene) -> None:
    broken = replace(log.table, name="broken", table="wrong_log")
    nowhere = replace(log.table, name="nowhere", url="mysql://u:secret@127.0.0.1:1/x")
    for _ in range(2):
        reports = await log.detection(broken, nowhere, log.table).run_once(again=True)
        await log.log("Login: x")
    assert [report.problem is None for report in reports] == [False, False, True]
    assert "secret" not in str([report.as_dict() for report in reports])
    assert await log.messages() == ["Login: x"]


async def test_nothing_is_read_that_nobody_wants(log: LogScene, tmp_path: Path) -> None:
    """Nobody listens, a marker says that the application is off line, it was read just now."""
    await log.detect()
    await log.log("Login: x")
    log.listened = set()
    assert (await log.detect()).did == "nobody listens"
    log.listened = set(NAMES)
    assert [r.did for r in await log.detection().run_once()] == ["was read a moment ago"]
    marker = tmp_path / "offline.txt"
    marker.touch()
    offline = replace(log.table, offline_marker=marker)
    assert [r.did for r in await log.detection(offline).run_once(again=True)] == ["is off line"]
    assert await log.messages() == []
    marker.unlink()
    await log.detection(offline).run_once(again=True)
    assert await log.messages() == ["Login: x"]


async def test_a_run_that_overlaps_another_changes_nothing(log: LogScene) -> None:
    await log.detect()
    async with DetectionLedger(log.database).turn("webtrees", 30) as mine:
        assert mine
        assert (await log.detect()).did == "another run reads it"
    assert detection_module.COOLDOWN == 300.0


async def test_numbers_that_run_out_are_told_once(log: LogScene) -> None:
    await log.detect()
    await log.execute(
        "INSERT INTO wt_log (log_id, log_type, log_message) VALUES (2147480000, 'error', 'x')"
    )
    for _ in range(2):
        await log.detect()
    warned = await log.events("source.near-id-limit")
    assert len(warned) == (1 if log.keeps_gaps else 0)
    assert await log.messages(ERROR) == ["x"]
    if not log.keeps_gaps:
        return
    assert [each.id_limit for each in await log.sources()] == [2**31 - 1]
    await log.execute(WIDENED[log.engine.dialect.name])
    await log.detect()
    assert [each.id_limit for each in await log.sources()] == [None]
