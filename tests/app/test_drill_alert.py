"""The whole chain: a drill fails, a metric says so, a rule fires, a mail arrives; and back."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leitstand.jobs import Queue, Run
from leitstand.store.database import Database
from tests.app.installation import SCRIPT
from tests.archive_scene import DATABASE, Archive
from tests.jobs.scene import eventually
from tests.notifications.mail_server import MailServer, mail_server
from tests.ports import free_port

CONFIGURATION = """
[server]
listen = "127.0.0.1:{port}"
data_dir = "{place}/var"
[database]
url = "{conninfo}"
[backup.postgres]
directory = "{backups}"
[protection]
enabled = false
[loop]
tick = "1s"
[[drill.queries]]
database = "{database}"
sql = "SELECT max(round) FROM entry"
expect = "{expect}"
[[job]]
name = "drill"
kind = "restore-drill"
[alerts]
every = "1s"
[[alert]]
name = "drill-failed"
metric_name = "restore_drill_last_failed"
comparison = "gt"
threshold = 0
recipient = "default"
[notifications]
recipients = ["ops@example.org"]
[smtp]
port = {smtp}
"""


async def test_a_failed_drill_is_a_mail_once_and_so_is_its_recovery(
    archive: Archive, database: Database, conninfo: str, short_dir: Path
) -> None:
    """The walk-through of docs/alerts.md, with a question that is answered wrongly, then right."""
    file, port = short_dir / "leitstand.toml", free_port()

    def expect(answer: str, smtp: int) -> None:
        text = CONFIGURATION.format(
            port=port,
            place=short_dir,
            conninfo=conninfo,
            backups=archive.directory,
            database=DATABASE,
            expect=answer,
            smtp=smtp,
        )
        file.write_text(text)

    async with mail_server() as server:
        expect("4", server.port)
        async with serving(file):
            assert (await drilled(database)).status == "failed"
            await arrived(server, "[FIRING] drill-failed kind=database")
            expect("3", server.port)
            assert (await drilled(database)).status == "succeeded"
            await arrived(server, "[RESOLVED] drill-failed kind=database")
            await evaluated_twice_more(database)
    assert sorted(mail["Subject"] for mail in server.mails) == [
        "[FAILED] job drill",
        "[FIRING] drill-failed kind=database",
        "[RECOVERED] job drill",
        "[RESOLVED] drill-failed kind=database",
    ]
    assert {mail["To"] for mail in server.mails} == {"ops@example.org"}


@asynccontextmanager
async def serving(file: Path) -> AsyncIterator[None]:
    """A control server with this configuration for as long as the block lasts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEITSTAND")}
    with (file.parent / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            SCRIPT, "serve", "--config", str(file), stdout=asyncio.subprocess.PIPE, stderr=log,
            env=kept,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        ready = await process.stdout.readline()
        assert b"http://" in ready, (file.parent / "log").read_text()
        yield
    finally:
        process.terminate()
        await process.wait()


async def drilled(database: Database) -> Run:
    """A run of the drill, as a person would ask for it, once it has ended."""
    queue = Queue(database)
    requested = await queue.request("drill")

    async def look() -> Run | None:
        run = await queue.get(requested.id)
        return run if run.status.is_final else None

    return await eventually(look, patience=120)


async def arrived(server: MailServer, subject: str) -> None:
    async def look() -> bool | None:
        return any(mail["Subject"] == subject for mail in server.mails) or None

    await eventually(look, patience=60)


async def evaluated_twice_more(database: Database) -> None:
    """Wait for two evaluations, which must have nothing new to tell."""
    queue = Queue(database)
    before = (await queue.list_runs("evaluate-alerts", limit=1))[0].id

    async def look() -> bool | None:
        runs = await queue.list_runs("evaluate-alerts", limit=3)
        ended = [run for run in runs if run.id > before and run.status.is_final]
        return len(ended) >= 2 or None

    await eventually(look, patience=60)
