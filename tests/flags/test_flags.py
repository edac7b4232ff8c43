"""Flags on a real database: fresh while it answers, as last known while it does not."""

import asyncio
from pathlib import Path

import pytest

from leitstand.errors import NotFoundError
from leitstand.flags import (
    Flag,
    FlagChange,
    FlagKeyError,
    FlagLedger,
    FlagMemory,
    FlagMetrics,
    FlagRolloutError,
    Flags,
    FlagTargetError,
    FlagVersionError,
    Reason,
    evaluate_all,
)
from leitstand.health import Readiness
from leitstand.health.checks import flags_fresh
from leitstand.store.database import Database
from tests.conftest import TEMPLATE, Postgres


class Clock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_changes_touch_only_what_they_name(database: Database) -> None:
    ledger = FlagLedger(database)
    assert (await ledger.change("f", FlagChange())).flag == Flag("f")
    await ledger.change("f", FlagChange(rollout_percentage=30))
    await ledger.change("f", FlagChange(target_tenants=frozenset({"acme", "münchen"})))
    flag = await ledger.change("f", FlagChange(enabled=True))
    assert flag.flag == Flag("f", True, 30, frozenset({"acme", "münchen"}))
    cleared = await ledger.change("f", FlagChange(enabled=False, target_tenants=frozenset()))
    assert cleared.flag == Flag("f", False, 30)
    assert await ledger.list_all() == [cleared.flag]
    await ledger.delete("f")
    with pytest.raises(NotFoundError):
        await ledger.delete("f")


async def test_each_change_is_a_version_in_the_history(database: Database) -> None:
    ledger = FlagLedger(database)
    first = await ledger.change("f", FlagChange(enabled=True), changed_by="ann", expected=0)
    for stale in (0, first.version + 99):
        with pytest.raises(FlagVersionError):
            await ledger.change("f", FlagChange(enabled=False), expected=stale)
    await ledger.change("f", FlagChange(rollout_percentage=5), changed_by="ben")
    with pytest.raises(FlagVersionError):
        await ledger.delete("f", expected=first.version)
    await ledger.delete("f", changed_by="cem")
    again = await ledger.change("f", FlagChange(), changed_by="dora")
    history = await ledger.history("f")
    assert [(v.changed_by, v.deleted) for v in history] == [
        ("dora", False),
        ("cem", True),
        ("ben", False),
        ("ann", False),
    ]
    versions = [each.version for each in history]
    assert versions == sorted(set(versions), reverse=True)
    assert history[0] == again == await ledger.find("f")
    assert await ledger.history("f", before=versions[2]) == [first]
    with pytest.raises(NotFoundError):
        await ledger.history("g")


async def test_targets_join_and_leave_however_many_at_once(database: Database) -> None:
    ledger = FlagLedger(database)
    names = [f"t{n}" for n in range(8)]
    joining = (ledger.change("f", FlagChange(added=frozenset({name}))) for name in names)
    await asyncio.gather(*joining)
    assert (await ledger.find("f")).flag.target_tenants == set(names)
    change = FlagChange(
        target_tenants=frozenset("ab"), removed=frozenset("bt"), added=frozenset("c")
    )
    assert (await ledger.change("f", change)).flag.target_tenants == {"a", "c"}


async def test_of_many_with_the_same_version_one_writes(database: Database) -> None:
    ledger = FlagLedger(database)
    for expected in (0, None):
        known = expected if expected == 0 else (await ledger.find("f")).version
        changes = (
            ledger.change("f", FlagChange(rollout_percentage=n), expected=known) for n in range(8)
        )
        done = await asyncio.gather(*changes, return_exceptions=True)
        assert sorted(isinstance(each, FlagVersionError) for each in done) == [False] + [True] * 7


@pytest.mark.parametrize(
    ("key", "change", "error"),
    [
        ("", FlagChange(), FlagKeyError),
        ("a|b", FlagChange(), FlagKeyError),
        ("a/b", FlagChange(), FlagKeyError),
        ("a", FlagChange(rollout_percentage=101), FlagRolloutError),
        ("a", FlagChange(rollout_percentage=-1), FlagRolloutError),
        ("a", FlagChange(target_tenants=frozenset({""})), FlagTargetError),
        ("a", FlagChange(target_tenants=frozenset({"x\0"})), FlagTargetError),
    ],
)
async def test_what_cannot_be(
    database: Database, key: str, change: FlagChange, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await FlagLedger(database).change(key, change)


async def test_what_is_known_is_kept_for_its_time(database: Database, tmp_path: Path) -> None:
    clock, ledger = Clock(), FlagLedger(database)
    flags = Flags(ledger, FlagMemory(tmp_path / "flags.json"), 5.0, clock)
    assert (await flags.evaluate("f", "a")).reason is Reason.UNKNOWN
    await ledger.change("f", FlagChange(enabled=True))
    assert not await flags.is_enabled("f", "a")
    clock.now += 5.0
    assert await flags.is_enabled("f", "a")
    await ledger.change("f", FlagChange(enabled=False))
    flags.invalidate()
    assert not await flags.is_enabled("f", "a")
    assert await flags.keys() == ["f"]


async def test_the_last_known_state_survives_outage_and_restart(
    own_postgres: Postgres, tmp_path: Path
) -> None:
    """Cases 51, 53, 54: stale answers at once, from the file after a restart, fresh soon after."""
    clock, memory = Clock(), FlagMemory(tmp_path / "var/flags.json")
    async with Database(own_postgres.conninfo(TEMPLATE), deadline=1.0) as database:
        ledger = FlagLedger(database)
        await ledger.change("f", FlagChange(target_tenants=frozenset({"acme"})))
        flags = Flags(ledger, memory, 5.0, clock)
        assert await flags.is_enabled("f", "acme")
        await asyncio.to_thread(own_postgres.stop)
        clock.now += 5.0
        answers = await asyncio.gather(*(flags.evaluate("f", "acme") for _ in range(20)))
        assert {(a.value, a.reason, a.stale) for a in answers} == {(True, Reason.STALE, True)}
        (age,) = await FlagMetrics(flags).collect()
        assert [sample.value for sample in age.samples] == [5.0]
        readiness = Readiness({"flags": flags_fresh(flags.age, 5.0)})
        assert (await readiness.report()).as_dict()["checks"] == {"flags": {"ok": True}}
        clock.now += 56.0
        warned = await readiness.report()
        assert warned.ready
        assert warned.as_dict()["checks"] == {
            "flags": {"ok": True, "warning": "feature flags are as known 61 s ago"}
        }

        restarted = Flags(ledger, memory, 5.0, clock)
        assert await restarted.is_enabled("f", "acme")
        assert (await restarted.evaluate("f", "other")).stale
        blank = Flags(ledger, FlagMemory(tmp_path / "none.json"), 5.0, clock)
        assert (await blank.evaluate("f", "acme")).reason is Reason.ERROR
        assert not await blank.is_enabled("f", "acme")
        bulk = await evaluate_all(blank, b"{}")
        assert (bulk.status, bulk.tag) == (500, None)  # not: there are no flags
        assert bulk.document == {
            "errorCode": "GENERAL",
            "errorDetails": "the flags cannot be read at the moment",
        }
        (age,) = await FlagMetrics(blank).collect()
        assert age.samples == []
        unread = await Readiness({"flags": flags_fresh(blank.age, 5.0)}).report()
        assert unread.ready
        assert unread.checks["flags"].warning

        await asyncio.to_thread(own_postgres.start)
        clock.now += 1.0
        for each in (flags, restarted, blank):
            assert (await each.evaluate("f", "acme")).reason is Reason.TARGETING_MATCH


@pytest.mark.parametrize("content", ["", "{", "[]", '{"flags": [1]}', '{"flags": [{"key": "a"}]}'])
def test_a_file_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    file = tmp_path / "flags.json"
    file.write_text(content)
    memory = FlagMemory(file)
    assert memory.recall() is None
    memory.keep([Flag("f", True, 5, frozenset({"ü"}))])
    assert memory.recall() == {"f": Flag("f", True, 5, frozenset({"ü"}))}
    assert list(tmp_path.iterdir()) == [file]


async def test_a_place_that_cannot_be_written_costs_nothing(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    flags = Flags(FlagLedger(database), FlagMemory(tmp_path / "file/flags.json"))
    assert (await flags.evaluate("f")).reason is Reason.UNKNOWN
