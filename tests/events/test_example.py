"""examples/webtrees as it stands, but for places and ports: from failed logins to a mail."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.installation import Installation
from tests.mariadb_server import MariaDb
from tests.notifications.mail_server import MailServer, mail_server
from tests.ports import free_port

EXAMPLE = Path(__file__).parents[2] / "examples/webtrees"

BESIDE = """
[database]
url = "{conninfo}"
[protection]
enabled = false
[alerts]
enabled = false
[loop]
tick = "1s"
[smtp]
port = {smtp}
"""


@pytest.fixture
def webtrees(mariadb: MariaDb) -> Iterator[MariaDb]:
    """A server with the example's table and the example's user."""
    mariadb.execute("CREATE DATABASE webtrees")
    mariadb.execute("USE webtrees; " + (EXAMPLE / "log-table.sql").read_text())
    mariadb.execute((EXAMPLE / "reader.sql").read_text())
    yield mariadb
    mariadb.execute("DROP DATABASE webtrees; DROP USER leitstand_reader@'127.0.0.1'")


async def test_failed_logins_are_a_mail(webtrees: MariaDb, conninfo: str, short_dir: Path) -> None:
    async with mail_server() as mails:
        write_configuration(short_dir, conninfo, webtrees.port, mails.port)
        place = Installation(short_dir, free_port())
        await asyncio.to_thread(walk_through, place, webtrees, mails)
    (mail,) = mails.mails
    assert (mail["To"], mail["Subject"]) == ("admin@example.org", "Failed logins at webtrees: 3")
    assert "Login failed (wrong password): 'x'" in mail.get_content()


def walk_through(place: Installation, webtrees: MariaDb, mails: MailServer) -> None:
    """What the example's README says, step by step."""
    with place.serving():
        place.json("job", "enable", "cronjob:pseudo-events")
        assert place.json("job", "run", "cronjob:pseudo-events", "--wait")["status"] == "succeeded"
        failed = ", ".join(["('auth', 'Login failed (wrong password): ''x''', '::1')"] * 3)
        edited = ", ".join(["('edit', 'Update: I1', '::1')"] * 50)
        webtrees.execute(
            "INSERT INTO webtrees.wt_log (log_type, log_message, ip_address)"
            f" VALUES {failed}, {edited}"
        )
        (report,) = place.json("detect", "run", "--again")
        assert report["emitted"]["cronjob:log-auth-failed"] == 3
        assert report["emitted"]["cronjob:log-edit-update"] == 50
        place.wait_for(lambda: mails.raw)
        place.wait_for((place.directory / "indexed").exists)
        (place.directory / "offline.txt").touch()
        (report,) = place.json("detect", "run", "--again")
        assert report["did"] == "is off line"
        runs = place.json("run", "list", "--job", "index-edited-records")
        assert [run["trigger"]["event"]["count"] for run in runs] == [50]


def write_configuration(directory: Path, conninfo: str, mariadb: int, smtp: int) -> None:
    """The example's, with the places and ports of this machine."""
    index = directory / "index-webtrees"
    index.write_text(f"#!/bin/sh\ntouch {directory}/indexed\n")
    index.chmod(0o755)
    text = (EXAMPLE / "leitstand.toml").read_text()
    for there, here in (
        (":3306/", f":{mariadb}/"),
        ("/var/www/webtrees/data/offline.txt", f"{directory}/offline.txt"),
        ("/opt/leitstand/.venv/bin", str(Path(sys.executable).parent)),
        ("/etc/leitstand/leitstand.toml", f"{directory}/leitstand.toml"),
        ("/etc/leitstand/", f"{EXAMPLE}/"),
        ("/usr/local/bin/index-webtrees", str(index)),
    ):
        assert there in text
        text = text.replace(there, here)
    beside = BESIDE.format(conninfo=conninfo, smtp=smtp)
    (directory / "leitstand.toml").write_text(beside + text)
