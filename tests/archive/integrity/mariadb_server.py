"""A MariaDB of the tests' own: in its own directory, on a socket and a free port of loopback."""

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from leitstand.store.account import server_account
from tests.execution.processes import until

PASSWORD = "a pass/word@:"  # whatever a URL has to escape
QUICK = (
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",
    "--skip-log-bin",
    "--skip-name-resolve",
)


def program(name: str) -> str:
    """A program of the package mariadb-server, which may lie outside an ordinary user's PATH."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert found is not None, f"{name} is missing: apt-get install mariadb-server"
    return found


@dataclass(frozen=True)
class MariaDb:
    """A running server."""

    port: int
    socket: Path

    def url(self, database: str, user: str = "leitstand") -> str:
        """The way to a database as the application would write it."""
        return f"mysql://{user}:a%20pass%2Fword%40%3A@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str) -> None:
        """Run statements as root."""
        subprocess.run(
            [program("mariadb"), "--no-defaults", "-uroot", f"--socket={self.socket}"],
            input=sql.encode(),
            check=True,
            timeout=60,
        )


def start_mariadb(directory: Path) -> tuple[MariaDb, subprocess.Popen[bytes]]:
    """Initialise and start a server below ``directory``, under an unprivileged account."""
    account = server_account()
    data = directory / "data"
    account.own(directory)
    options = account.popen_options()
    with (directory.with_name(directory.name + ".log")).open("ab") as log:
        subprocess.run(
            [
                program("mariadb-install-db"),
                "--no-defaults",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=8M",
            ],
            check=True,
            timeout=120,
            stdout=log,
            stderr=log,
            **options,
        )
        server = MariaDb(free_port(), directory / "sock")
        process = subprocess.Popen(
            [
                program("mariadbd"),
                "--no-defaults",
                f"--datadir={data}",
                f"--socket={server.socket}",
                f"--port={server.port}",
                "--bind-address=127.0.0.1",
                f"--pid-file={directory / 'pid'}",
                *QUICK,
            ],
            stdout=log,
            stderr=log,
            **options,
        )
    until(lambda: server.socket.exists() or process.poll() is not None, 60)
    server.execute(
        f"CREATE USER leitstand@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
        "GRANT SELECT ON *.* TO leitstand@'127.0.0.1';"
    )
    return server, process


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
