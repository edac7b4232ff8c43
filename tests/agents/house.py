"""A control server in the test's own process that answers agents."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from leitstand.jobs import LoopSettings
from tests.jobs.agent_site import agent_site
from tests.jobs.scene import QUICK, Running, Scene, control_server
from tests.ports import free_port

PATIENT = replace(QUICK, heartbeat=0.2, stale_after=2.0)
"""A child may take a moment on a busy machine without being taken for dead."""


@asynccontextmanager
async def house(
    scene: Scene, settings: LoopSettings = PATIENT, port: int = 0
) -> AsyncIterator[tuple[Running, str]]:
    """The server, and where it answers."""
    port = port or free_port()
    async with (
        control_server(scene, settings) as running,
        agent_site(scene.database, running.server, port),
    ):
        yield running, f"http://127.0.0.1:{port}"
        await running.ended()
