"""Rows that become visible out of order, on MariaDB and PostgreSQL: each is told once."""

import pytest

from tests.events.log_scene import LogScene


@pytest.fixture
def log(shared_log: LogScene) -> LogScene:
    """Each kind of database in turn."""
    return shared_log


async def test_a_lower_number_that_is_committed_later(log: LogScene) -> None:
    """Cases 1, 2, 4 and 13 (core: 63): it is waited for while it is on its way, then told once."""
    await log.detect()
    async with log.open_transaction("Login: slow") as slow:
        await log.log("Login: fast")
        for _ in range(3):
            await log.detect()
            assert await log.open_ids() > 0
        assert await log.messages() == ["Login: fast"]
        await slow.commit()
    assert (await log.detect()).late == 1
    await log.detect()
    assert await log.messages() == ["Login: fast", "Login: slow"]
    assert await log.open_ids() == 0
    assert (await log.status())["late_rows"] == 1


async def test_one_that_is_rolled_back_is_given_up(log: LogScene) -> None:
    """Case 2: by evidence, not by the clock."""
    await log.detect()
    async with log.open_transaction("Login: never"):
        await log.log("Login: fast")
        await log.detect()
        await log.detect()
        assert await log.open_ids() > 0
    await log.detect()
    assert await log.open_ids() == 0
    assert await log.messages() == ["Login: fast"]
    assert (await log.status())["dead_ids"] >= 1


async def test_one_that_was_on_its_way_at_the_beginning(log: LogScene) -> None:
    await log.log("Login: old")
    async with log.open_transaction("Login: slow") as slow:
        await log.log("Login: old")
        await log.detect()
        await slow.commit()
    await log.detect()
    assert await log.messages() == ["Login: slow"]


async def test_an_idle_transaction_elsewhere_holds_up_nothing(log: LogScene) -> None:
    await log.detect()
    await log.execute("CREATE TABLE other (x integer)")
    async with log.engine.connect() as idle:
        await idle.exec_driver_sql("INSERT INTO other VALUES (1)")
        async with log.open_transaction("Login: never"):
            await log.log("Login: fast")
            await log.detect()
        await log.detect()
        await log.detect()
        assert await log.open_ids() == 0
        await idle.rollback()


async def test_many_gaps_with_one_on_its_way(log: LogScene) -> None:
    await log.detect()
    async with log.open_transaction("Login: slow") as slow:
        for number in range(40):
            async with log.open_transaction("Login: never"):
                pass
            await log.log(f"Login: {number}")
        await log.detect()
        await log.detect()
        await slow.commit()
    await log.detect()
    await log.detect()
    assert await log.open_ids() == 0
    assert len(await log.messages()) == 41


async def test_a_writer_is_never_held_up(log: LogScene) -> None:
    """What is asked about locks waits for nothing and leaves none behind."""
    await log.detect()
    async with log.open_transaction("Login: slow") as slow:
        await log.log("Login: fast")
        await log.detect()
        await log.insert(slow, "Login: more")
        await log.detect()
        await slow.commit()
    await log.detect()
    assert sorted(await log.messages()) == ["Login: fast", "Login: more", "Login: slow"]
