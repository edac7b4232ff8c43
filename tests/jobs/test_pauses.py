"""Between two passes a server rests, also when what is due is not claimed."""

import time
from dataclasses import replace

from tests.jobs.scene import QUICK, Running, Scene, control_server, eventually, execute

SPAN = 0.6


async def passes_in_a_while(running: Running) -> int:
    """How many passes are completed within ``SPAN`` seconds."""
    until = time.monotonic() + SPAN
    seen = set()

    async def look() -> bool | None:
        seen.add(running.server.passes.last_completed)
        return time.monotonic() > until or None

    await eventually(look)
    return len(seen) - 1


async def test_a_server_that_drains_leaves_what_is_due_in_peace(scene: Scene) -> None:
    """What is due stays due while nobody claims it: that is no reason for another pass at once."""
    await scene.job(every="1h")
    async with control_server(scene) as running:
        await scene.ended(await scene.queue.request("job"))
        await running.server_drained(scene)
        await scene.make_due("job", 1)
        assert await passes_in_a_while(running) <= 2 * SPAN / QUICK.tick


async def test_a_step_that_fails_is_no_reason_to_hurry(scene: Scene) -> None:
    await scene.job(every="1h")
    await execute(scene, "ALTER TABLE non_runs RENAME TO elsewhere")
    await scene.make_due("job", 7200)
    async with control_server(scene, replace(QUICK, tick=5.0)) as running:
        passes = running.server.passes

        async def failed() -> bool | None:
            return passes.failed_steps > 0 or None

        await eventually(failed)
        await passes_in_a_while(running)
        assert passes.failed_steps <= 3
        await execute(scene, "ALTER TABLE elsewhere RENAME TO non_runs")

        async def claimed() -> bool | None:
            return bool(await scene.queue.list_runs()) or None

        await eventually(claimed)
