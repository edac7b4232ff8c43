"""MariaDB for tests of what reads or writes the tables of other programs, as Debian has it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from leitstand.store.account import server_account
from tests.conftest import temporary_short_dir
from tests.ports import free_port
from tests.server_process import ServerProcess, answers, program, run_as_server

PASSWORD = "a pass/word@:"  # whatever a URL has to escape
READER = "leitstand"

SMALL = (
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    "--skip-log-bin",
    "--skip-name-resolve",
    "--performance-schema=OFF",
)
CARELESS = (
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--sync-frm=0",
)
"""Nothing is forced to the disk; a server that is asked to end keeps its data all the same."""


class MariaDb:
    """A server below ``directory``; ``start`` and ``stop`` as often as needed.

    ``READER`` may read everything. ``options`` replace those that spare the disk.
    """

    def __init__(self, directory: Path, options: tuple[str, ...] = CARELESS) -> None:
        self.port = free_port()
        self._directory = directory
        self._options = options
        self._process: ServerProcess | None = None
        self._initialise()
        self.start()
        self.execute(
            f"CREATE USER {READER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
            f"GRANT SELECT ON *.* TO {READER}@'127.0.0.1';"
        )

    def _initialise(self) -> None:
        self._directory.mkdir(parents=True)
        server_account().own(self._directory)
        run_as_server(
            [
                program("mariadb-install-db"),
                "--no-defaults",
                f"--datadir={self._directory / 'data'}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=16M",
                *CARELESS,
            ]
        )

    @property
    def socket(self) -> Path:
        """Where root logs in."""
        return self._directory / "s"

    def start(self) -> None:
        """Start it, on the same port as before."""
        self._process = ServerProcess(
            [
                program("mariadbd"),
                "--no-defaults",
                f"--datadir={self._directory / 'data'}",
                f"--socket={self.socket}",
                f"--port={self.port}",
                "--bind-address=127.0.0.1",
                f"--pid-file={self._directory / 'pid'}",
                *SMALL,
                *self._options,
            ],
            self._directory.with_suffix(".log"),
        )
        self._process.wait_until(lambda: answers(self.port) and self.socket.exists())

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    @contextmanager
    def away(self) -> Iterator[None]:
        """Stopped for as long as the block lasts."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def url(self, database: str, user: str = READER) -> str:
        """The way to a database as an application would write it."""
        return f"mysql://{user}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str) -> str:
        """Run statements as root; the rows that they return, without headings."""
        done = subprocess.run(
            [program("mariadb"), "--no-defaults", "-uroot", f"--socket={self.socket}", "-N"],
            input=sql.encode(),
            check=True,
            timeout=60,
            stdout=subprocess.PIPE,
        )
        return done.stdout.decode()

    def create_database(self, name: str) -> str:
        """A database with a user of the same name who may do everything in it; its URL."""
        self.execute(
            f"CREATE DATABASE {name} CHARACTER SET utf8mb4;"
            f"CREATE USER {name}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
            f"GRANT ALL ON {name}.* TO {name}@'127.0.0.1';"
        )
        return self.url(name, name)

    def drop_database(self, name: str) -> None:
        """Drop a database and its user."""
        self.execute(f"DROP DATABASE {name}; DROP USER {name}@'127.0.0.1';")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """A MariaDB for the session."""
    with mariadb_server() as server:
        yield server


@pytest.fixture
def own_mariadb() -> Iterator[MariaDb]:
    """A MariaDB for one test, which may restart it."""
    with mariadb_server() as server:
        yield server


@contextmanager
def mariadb_server(
    options: tuple[str, ...] = CARELESS, *, on_disk: bool = False
) -> Iterator[MariaDb]:
    """A server that is gone afterwards with all its files."""
    with temporary_short_dir(on_disk=on_disk) as directory:
        server = MariaDb(directory / "my", options)
        try:
            yield server
        finally:
            server.stop()
