"""A process that uses an embedded server until its standard input ends; test_embedded runs it.

Arguments: the data directory and, as root, a user id to become. That happens after the imports,
since Python itself may be installed where only root can read it.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import structlog

from leitstand.store.embedded import EmbeddedServer


async def use(data_dir: Path) -> None:
    """Say where the server is and which process it is, as one line of JSON, and stay."""
    async with EmbeddedServer(data_dir, {"fsync": "off"}) as server:
        facts = {"conninfo": server.conninfo, "server_pid": server.cluster.running_pid()}
        print(json.dumps(facts), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def become(uid: int) -> None:
    """Give up root's rights for those of ``uid``."""
    asyncio.run(asyncio.to_thread(os.getpid))  # loads what asyncio imports only when used
    os.chdir("/")
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    if sys.argv[2:]:
        become(int(sys.argv[2]))
    asyncio.run(use(Path(sys.argv[1])))
