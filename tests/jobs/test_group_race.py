"""The limit of a group holds also for runs that come to wait while a server is claiming."""

from leitstand.jobs.queue import queries
from tests.jobs.scene import Scene


async def test_a_group_that_was_not_locked_is_left_to_the_next_pass(scene: Scene) -> None:
    """Case 62: without the lock two servers would count, and fill the group, at the same time."""
    await scene.job("grouped", group="pair")
    await scene.job("free")
    async with scene.database.transaction() as connection:
        await connection.execute(queries.lock_groups.sql)
        for name in ("grouped", "free"):
            await scene.queue.request(name)
        rows = queries.start_runs(connection, owner="a", slots=5)
        assert [row["job"] async for row in rows] == ["free"]
    assert [run.job for run in await scene.queue.start("a", 5)] == ["grouped"]
