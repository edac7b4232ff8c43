"""A PostgreSQL started from a restored copy, cut off from what the original was connected to.

The copy carries all that the original was set up to do: archive its WAL, follow a primary,
subscribe to publishers, wait for synchronous standbys, load libraries. That is switched off on the
command line, which outweighs every file of the copy; the copy's own configuration files are not
read at all. Settings in the catalog outweigh the command line: they are removed (``disarm``) before
the server starts.

What remains is code in the copy's tables and views: the functions of what is asked. Questions are
therefore asked as a role that cannot run programs, read files or load libraries.
"""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from leitstand.archive.drills.disarm import WaysIn, disarm
from leitstand.archive.drills.drill_room import SOCKET_PREFIX
from leitstand.store.account import Account
from leitstand.store.cluster import Cluster, ClusterError

ISOLATION = {
    "listen_addresses": "",
    "ssl": "off",
    "archive_mode": "off",
    "archive_command": "",
    "archive_library": "",
    "restore_command": "",
    "recovery_end_command": "",
    "archive_cleanup_command": "",
    "primary_conninfo": "",
    "primary_slot_name": "",
    "synchronous_standby_names": "",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "shared_preload_libraries": "",
    "session_preload_libraries": "",
    "local_preload_libraries": "",
    "event_triggers": "off",
    "logging_collector": "off",
    "log_destination": "stderr",
    "external_pid_file": "",
    "cluster_name": "leitstand-drill",
}
"""The server's own ways out of the copy in PostgreSQL 17 and 18, and the code that it loads."""

MODEST = {
    "max_connections": "20",
    "shared_buffers": "128MB",
    "huge_pages": "off",
    "autovacuum": "off",
    "jit": "off",
    "fsync": "off",
    "summarize_wal": "off",
}
"""A copy that is thrown away needs neither the original's memory nor durability."""

ORIGINS = "1000"
"""Replication origins that a copy may have: more than anybody follows, in 60 kB."""
ORIGINS_APART_SINCE = 18
"""The version that stopped counting origins by max_replication_slots."""


@dataclass(frozen=True)
class IsolatedServer:
    """A running copy, and who may log in to it."""

    cluster: Cluster
    socket_dir: Path
    ways_in: WaysIn

    def conninfo(self, role: str, dbname: str) -> str:
        """The way to a database of the copy, within the copy's own directory."""
        return psycopg.conninfo.make_conninfo(
            host=str(self.socket_dir), port=5432, user=role, dbname=dbname
        )


@contextmanager
def isolated_server(cluster: Cluster, scratch: Path, deadline: float) -> Iterator[IsolatedServer]:
    """Recover the copy ``cluster``, disarm it, and keep a server on it while the context lasts.

    ``scratch`` takes configuration and log. Whoever reaches the socket may log in as anyone, so it
    is in a directory that is closed to other users. Recovery and start together get ``deadline``
    seconds. Raises ClusterError with the server's last words.
    """
    options = {
        **ISOLATION,
        **MODEST,
        **_needed_by_recovery(cluster),
        **_own_files(scratch, cluster.account),
    }
    log_file, until = scratch / "postgres.log", time.monotonic() + deadline
    ways_in = disarm(cluster, options, log_file, deadline)
    with _socket_dir(cluster.account) as socket_dir:
        try:
            cluster.start(socket_dir, log_file, options, max(0.1, until - time.monotonic()))
            yield IsolatedServer(cluster, socket_dir, ways_in)
        finally:
            cluster.stop(deadline=5.0)


@contextmanager
def _socket_dir(account: Account) -> Iterator[Path]:
    """A directory for the socket: its path must be short, and others must not reach it."""
    path = Path(tempfile.mkdtemp(prefix=SOCKET_PREFIX, dir="/tmp"))
    try:
        account.own(path)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _own_files(scratch: Path, account: Account) -> dict[str, str]:
    """Configuration files of our own: on Debian the original's are not in the copy at all."""
    contents = {
        "config_file": ("postgresql.conf", ""),
        "hba_file": ("pg_hba.conf", "local all all trust\n"),
        "ident_file": ("pg_ident.conf", ""),
    }
    for name, content in contents.values():
        (scratch / name).write_text(content)
        account.own(scratch / name)
    return {setting: str(scratch / name) for setting, (name, _) in contents.items()}


def _needed_by_recovery(cluster: Cluster) -> dict[str, str]:
    """Limits below which recovery itself would fail, as the original had them.

    pg_controldata names them (in the C locale) ``max_prepared_xacts`` and ``max_locks_per_xact``.
    It does not know how many publishers the original followed: recovery has their positions, too.
    """
    done = subprocess.run(
        [cluster.binaries.path("pg_controldata"), str(cluster.data)],
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        **cluster.account.popen_options(),
    )
    if done.returncode != 0:
        raise ClusterError(
            f"pg_controldata cannot read the restored copy {cluster.data}",
            detail=done.stderr.strip(),
        )
    found = dict(re.findall(r"^(max_\w+) setting:\s+(\d+)$", done.stdout, re.MULTILINE))
    since_18 = cluster.binaries.major >= ORIGINS_APART_SINCE
    return {
        "max_active_replication_origins" if since_18 else "max_replication_slots": ORIGINS,
        "max_prepared_transactions": found.get("max_prepared_xacts", "0"),
        "max_locks_per_transaction": found.get("max_locks_per_xact", "64"),
    }
