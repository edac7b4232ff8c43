"""A PostgreSQL of the measurements' own, durable as in production."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from leitstand.store.account import server_account
from leitstand.store.binaries import Binaries, embedded_binaries
from leitstand.store.cluster import Cluster

OPTIONS = {
    "listen_addresses": "",
    "summarize_wal": "on",
    "max_connections": "100",
    "shared_buffers": "256MB",
}


@dataclass(frozen=True)
class BenchServer:
    """A running server below ``directory``."""

    cluster: Cluster
    directory: Path

    @property
    def socket_dir(self) -> Path:
        """Where its socket is."""
        return self.directory / "s"

    @property
    def binaries(self) -> Binaries:
        """The programs it was started with."""
        return self.cluster.binaries

    def conninfo(self, dbname: str = "postgres") -> str:
        """The way to one of its databases."""
        return self.cluster.conninfo(self.socket_dir, dbname)

    def create_database(self, name: str) -> str:
        """Create a database and return the way to it."""
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.conninfo(name)


@contextmanager
def bench_server() -> Iterator[BenchServer]:
    """Initialise and start a server; it and its files are gone afterwards."""
    account = server_account()
    directory = Path(tempfile.mkdtemp(prefix="ls-bench-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        for name in ("data", "s"):
            (directory / name).mkdir(mode=0o700)
            account.own(directory / name)
        cluster = Cluster(directory / "data", embedded_binaries(), account)
        cluster.initialise()
        (cluster.data / "pg_hba.conf").write_text(
            "local all all trust\nlocal replication all trust\n"
        )
        try:
            cluster.start(directory / "s", directory / "log", OPTIONS)
            yield BenchServer(cluster, directory)
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
