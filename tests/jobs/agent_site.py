"""The web site of a control server of the tests: the agents' API, and nothing that shows much."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leitstand.jobs import AgentDesk, ControlServer, Queue
from leitstand.modules import CredentialLedger
from leitstand.store.database import Database
from leitstand.web import agent_api, bind, build_site, serving
from tests.web.scene import site_on


@asynccontextmanager
async def agent_site(database: Database, server: ControlServer, port: int) -> AsyncIterator[None]:
    """Answer agents on ``port`` of the loopback interface, on connections of their own."""
    async with Database(database.conninfo, pool_size=4, deadline=database.deadline) as own:
        desk = AgentDesk(
            Queue(own),
            server.board,
            server.settings,
            draining=lambda: server.draining,
            on_recorded=server.recorded,
        )
        agents = agent_api(desk, CredentialLedger(own))
        site = build_site(site_on(own, Path("/nowhere"), agents))
        with bind("127.0.0.1", port) as listener:
            async with serving(site, listener):
                yield
