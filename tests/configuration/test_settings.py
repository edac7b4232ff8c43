"""Settings on a real database: versions without gaps, history, scopes, caches."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leitstand.app.core_wiring import build_core, hear_of_changes
from leitstand.configuration import (
    CachedSettings,
    Expected,
    SettingKeyError,
    SettingLedger,
    SettingScopeError,
    SettingValueError,
    UnknownSettingError,
    VersionConflictError,
)
from leitstand.configuration.setting import LARGEST, fingerprint, written
from leitstand.errors import UsageError
from leitstand.settings import Settings
from leitstand.store.database import Database, DatabaseUnavailableError
from tests.conftest import TEMPLATE, Postgres
from tests.forking import ROOT
from tests.jobs.scene import eventually


@pytest.fixture
def ledger(database: Database) -> SettingLedger:
    return SettingLedger(database)


@pytest.fixture
async def pools(conninfo: str) -> AsyncIterator[list[Database]]:
    """The pools of four servers."""
    async with AsyncExitStack() as stack:
        databases = [Database(conninfo, pool_size=5, deadline=30.0) for _ in range(4)]
        yield [await stack.enter_async_context(each) for each in databases]


async def test_each_write_is_a_version_with_a_history(ledger: SettingLedger) -> None:
    for value in ("a", 2, {"b": [1.5, None, True]}):
        last = await ledger.save("mail.sender", value, changed_by="anna")
    assert (last.version, last.value, last.scope) == (3, {"b": [1.5, None, True]}, "global")
    history = await ledger.history("mail.sender")
    assert [(s.version, s.value) for s in history] == [(1, "a"), (2, 2), (3, last.value)]
    assert history == sorted(history, key=lambda setting: setting.changed_at)
    assert history[-1] == last == await ledger.find("mail.sender")
    assert {setting.changed_by for setting in history} == {"anna"}


async def test_a_hundred_writers_at_once(pools: list[Database]) -> None:
    """Versions 1 to 100, each once, the first one included; the history has what each wrote."""
    ledgers = [SettingLedger(database) for database in pools]
    writes = (ledgers[n % 4].save("k", n, changed_by=f"w{n}") for n in range(100))
    done = await asyncio.gather(*writes)
    assert sorted(setting.version for setting in done) == list(range(1, 101))
    history = await ledgers[0].history("k")
    assert history == sorted(done, key=lambda setting: setting.version)
    assert await ledgers[0].find("k") == history[-1]
    assert [s.changed_at for s in history] == sorted(s.changed_at for s in history)


def test_commands_that_set_one_key_at_once(conninfo: str) -> None:
    """As processes, the short form of ``python -m tests.configuration.campaign``."""
    command = [sys.executable, "-m", "tests.configuration.campaign", conninfo]
    environment = {**os.environ, "WRITERS": "8"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "8 succeeded, versions 1 to 8, no gap" in done.stdout, done.stderr
    assert done.returncode == 0


async def test_fifty_that_expect_the_same_version(pools: list[Database]) -> None:
    """Case 48: one gets it, the others are told."""
    ledgers = [SettingLedger(database) for database in pools]
    await ledgers[0].save("k", 0, changed_by="a")
    writes = (ledgers[n % 4].save("k", n, changed_by="b", expected=Expected(1)) for n in range(50))
    done = await asyncio.gather(*writes, return_exceptions=True)
    won = [each for each in done if not isinstance(each, BaseException)]
    assert [setting.version for setting in won] == [2]
    assert sum(isinstance(each, VersionConflictError) for each in done) == 49
    assert len(await ledgers[0].history("k")) == 2


async def test_what_is_expected_not_to_be_there(pools: list[Database]) -> None:
    ledgers = [SettingLedger(database) for database in pools]
    writes = (ledgers[n % 4].save("k", n, changed_by="b", expected=Expected(0)) for n in range(20))
    done = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(each, VersionConflictError) for each in done) == 19
    with pytest.raises(VersionConflictError):
        await ledgers[0].save("other", 1, changed_by="b", expected=Expected(1))
    assert await ledgers[0].find("other") is None


async def test_a_version_that_repeats_with_other_content(ledger: SettingLedger) -> None:
    """Case 49: after a restore the number is the same, and the content decides."""
    mine = await ledger.save("k", "before", changed_by="a")
    async with ledger._database.connection() as connection:
        await connection.execute("DELETE FROM settings")
        await connection.execute("DELETE FROM setting_history")
    theirs = await ledger.save("k", "after", changed_by="b")
    assert (mine.version, theirs.version) == (1, 1)
    assert mine.tag != theirs.tag
    with pytest.raises(VersionConflictError):
        await ledger.save("k", "mine", changed_by="a", expected=Expected.from_tag(mine.tag))
    assert await ledger.save("k", "mine", changed_by="a", expected=Expected.from_tag(theirs.tag))


@pytest.mark.parametrize("tag", ["", "x", "1-", "-1", "1-xyz", "1" * 30, "\u0661"])
def test_tags_that_cannot_be(tag: str) -> None:
    with pytest.raises(UsageError):
        Expected.from_tag(tag)


@pytest.mark.parametrize("key", ["", " ", ".a", "ü", "a b", "a\n", "k" * 201])
async def test_keys_that_cannot_be(ledger: SettingLedger, key: str) -> None:
    with pytest.raises(SettingKeyError):
        await ledger.save(key, 1, changed_by="a")


@pytest.mark.parametrize("scope", ["", "Acme", "a-b", "1a", "a\n"])
async def test_scopes_that_cannot_be(ledger: SettingLedger, scope: str) -> None:
    with pytest.raises(SettingScopeError):
        await ledger.save("k", 1, scope=scope, changed_by="a")


@pytest.mark.parametrize("value", [float("nan"), "\x00", object(), "\ud800", "x" * LARGEST])
async def test_values_that_cannot_be(ledger: SettingLedger, value: object) -> None:
    with pytest.raises(SettingValueError):
        await ledger.save("k", value, changed_by="a")


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=9)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=json_values)
def test_what_is_set_is_what_comes_back(conninfo: str, value: Any) -> None:
    text = written(value)
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("SELECT %s::jsonb", (text,)).fetchone()
    assert row == (value,)
    assert fingerprint(written(row[0])) == fingerprint(text)


async def test_scopes(ledger: SettingLedger) -> None:
    """``get`` reads one scope; ``resolve`` prefers the tenant's value, null among them."""
    await ledger.save("k", "all", changed_by="a")
    await ledger.save("k", None, scope="acme", changed_by="a")
    cached = CachedSettings(ledger)
    assert (await cached.get("k")).value == "all"
    assert (await cached.get("k", "acme")).value is None
    assert [(await cached.resolve("k", t)).value for t in ("acme", "other", None)] == [
        None,
        "all",
        "all",
    ]
    with pytest.raises(UnknownSettingError):
        await cached.get("k", "other")
    for unknown in (cached.resolve("kk", "acme"), cached.get("kk"), ledger.history("kk")):
        with pytest.raises(UnknownSettingError, match="kk is not set") as caught:
            await unknown
        assert "Did you mean k?" in str(caught.value.remedy) or "setting list" in str(
            caught.value.remedy
        )


async def test_the_cache_ends_by_itself(ledger: SettingLedger) -> None:
    """Case 52: without any notification a change is seen after the lifetime, absence too."""
    now = [100.0]
    cached = CachedSettings(ledger, 5.0, lambda: now[0])
    with pytest.raises(UnknownSettingError):
        await cached.get("k")
    await ledger.save("k", 1, changed_by="a")
    with pytest.raises(UnknownSettingError):
        await cached.get("k")
    now[0] += 5.0
    assert (await cached.get("k")).value == 1
    await ledger.save("k", 2, changed_by="a")
    assert (await cached.get("k")).value == 1
    cached.invalidate("other")
    assert (await cached.get("k")).value == 1
    cached.invalidate("k")
    assert (await cached.get("k")).value == 2


async def test_what_is_read_during_a_change_is_not_kept(ledger: SettingLedger) -> None:
    await ledger.save("k", 1, changed_by="a")
    cached = CachedSettings(ledger)
    find = ledger.find

    async def find_while_it_changes(key: str, scope: str = "global") -> Any:
        found = await find(key, scope)
        await ledger.save("k", 2, changed_by="b")
        cached.invalidate("k")
        ledger.find = find  # type: ignore[method-assign]
        return found

    ledger.find = find_while_it_changes  # type: ignore[method-assign]
    assert (await cached.get("k")).value == 1
    assert (await cached.get("k")).value == 2


async def test_all_servers_learn_of_a_change(pools: list[Database]) -> None:
    """Within a second of the commit, though their caches would keep the value for a minute."""
    patient = Settings.model_validate({"cache": {"configuration": "1m"}})
    cores = [build_core(patient, database) for database in pools]
    tasks = [asyncio.create_task(hear_of_changes(d, c)) for d, c in zip(pools, cores, strict=True)]

    wanted = 0

    async def all_see() -> bool | None:
        seen = [(await core.configuration.get("k")).value for core in cores]
        return seen == [wanted] * len(cores) or None

    try:
        await cores[0].setting_ledger.save("k", 0, changed_by="a")
        await eventually(all_see)
        for wanted in range(1, 4):
            await cores[wanted].setting_ledger.save("k", wanted, changed_by="a")
            async with asyncio.timeout(5):
                await eventually(all_see)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_a_database_that_is_away_is_no_unknown_setting(own_postgres: Postgres) -> None:
    async with Database(own_postgres.conninfo(TEMPLATE), deadline=1.0) as database:
        cached = CachedSettings(SettingLedger(database))
        await SettingLedger(database).save("k", 1, changed_by="a")
        assert (await cached.get("k")).value == 1
        await asyncio.to_thread(own_postgres.stop)
        assert (await cached.get("k")).value == 1
        with pytest.raises(DatabaseUnavailableError):
            await cached.get("other")
