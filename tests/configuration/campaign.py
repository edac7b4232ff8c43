"""Many commands set one key at once: ``python -m tests.configuration.campaign``.

WRITERS from the environment, on a server of the campaign's own or on the database that is given
(``campaign CONNINFO``); each is ``leitstand setting set`` in a process of its own. Exit status
1 unless the versions are 1 to WRITERS, each once, and the history holds what each wrote.
"""

import asyncio
import io
import os
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

import leitstand.app.control
import leitstand.cli.setting  # noqa: F401 -- imported here, they need not be in each process
from leitstand.cli.main import run
from leitstand.configuration import SettingLedger
from leitstand.store.database import Database
from tests.campaign_server import campaign_server

KEY = "mail.sender"


def write_all(conninfo: str, writers: int) -> list[int]:
    """Fork all writers, let them go at the same moment, and wait; their exit statuses."""
    begin, go = os.pipe()
    pids = []
    for number in range(writers):
        pid = os.fork()
        if pid == 0:
            os.close(go)
            os.read(begin, 1)  # nothing comes: it ends when the last holder of the other end closes
            os._exit(_write(conninfo, number))
        pids.append(pid)
    os.close(begin)
    os.close(go)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def _write(conninfo: str, number: int) -> int:
    os.environ["LEITSTAND_DATABASE__URL"] = conninfo
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return run(["setting", "set", KEY, f"value {number}"])


async def versions(conninfo: str) -> list[tuple[int, object]]:
    """The history: versions and values."""
    async with Database(conninfo) as database:
        history = await SettingLedger(database).history(KEY)
        return [(setting.version, setting.value) for setting in history]


def main() -> int:
    """Run it, and print what came of it."""
    if len(sys.argv) > 1:
        return campaign(sys.argv[1])
    with campaign_server() as (_, conninfo):
        return campaign(conninfo)


def campaign(conninfo: str) -> int:
    """Have all write; 0 if each version was written by one of them."""
    writers, began = int(os.environ.get("WRITERS", "100")), time.monotonic()
    os.chdir("/")  # where no configuration is
    codes = write_all(conninfo, writers)
    found = asyncio.run(versions(conninfo))
    wanted = set(range(1, writers + 1))
    fair = [v for v, _ in found] == sorted(wanted) and len({str(v) for _, v in found}) == writers
    print(
        f"{writers} commands, {codes.count(0)} succeeded, versions {found[0][0]} to {found[-1][0]},"
        f" {'no gap' if fair else 'NOT ONE OF EACH'} ({time.monotonic() - began:.1f} s)"
    )
    return 0 if fair and not any(codes) else 1


if __name__ == "__main__":
    sys.exit(main())
