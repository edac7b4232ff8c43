"""Writes the sum of all migrations to schema.sql, for people to read and a test to compare."""

import subprocess
import tempfile
from pathlib import Path

from leitstand.store.account import server_account
from leitstand.store.binaries import Binaries, embedded_binaries
from leitstand.store.cluster import Cluster
from leitstand.store.schema import upgrade

SCHEMA_FILE = Path(__file__).parent.parent / "src/leitstand/store/schema.sql"

TITLE = "-- The control database's schema: the sum of all migrations, written by `make schema`.\n\n"


def dump_schema(conninfo: str, binaries: Binaries) -> str:
    """The schema of a migrated database, without what differs between two dumps of it."""
    options = ["--schema-only", "--no-owner", "--no-privileges", "--dbname", conninfo]
    done = subprocess.run(
        [binaries.path("pg_dump"), *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    kept = (
        line
        for line in done.stdout.splitlines()
        if line and not line.startswith(("--", "SET ", "SELECT pg_catalog", "\\"))
    )
    return TITLE + "\n".join(kept).replace(";\n", ";\n\n") + "\n"


def main() -> None:
    """Migrate an empty database in a server of our own and dump it."""
    account = server_account()
    with tempfile.TemporaryDirectory(prefix="ls-", dir="/tmp") as name:
        directory = Path(name)
        directory.chmod(0o755)
        data = directory / "data"
        data.mkdir(mode=0o700)
        account.own(data)
        cluster = Cluster(data, embedded_binaries(), account)
        cluster.initialise()
        (data / "pg_hba.conf").write_text("local all all trust\n")
        cluster.start(data, directory / "log", {"listen_addresses": "", "fsync": "off"})
        try:
            upgrade(cluster.conninfo(data))
            SCHEMA_FILE.write_text(dump_schema(cluster.conninfo(data), cluster.binaries))
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
