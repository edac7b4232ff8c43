"""Makes sure that a server answers at an embedded server's place: initialise, find, start."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import structlog
from psycopg import sql

from leitstand.errors import LeitstandError, UnavailableError
from leitstand.store.cluster import Cluster, ClusterError, Sign, remedy_for_hanging
from leitstand.store.connection import cut_off_after
from leitstand.store.interruptible import pause
from leitstand.store.place import Place

log = structlog.get_logger(__name__)

DATABASE = "leitstand"

START_DEADLINE = 300.0
"""Seconds for a start; recovery after a crash replays up to max_wal_size."""

SILENCE_LIMIT = 10.0
"""Seconds after which a server that gives no sign of life counts as hanging."""

LOGIN_DEADLINE = 10.0
"""Seconds for logging in and looking for the database."""

SCARCE = 64 * 1024 * 1024
"""Free bytes below which a failed start is put down to the disk."""

INITIAL_SETTINGS = {"timezone": "UTC", "log_timezone": "UTC", "max_wal_senders": "10"}
"""Written into a new cluster; ALTER SYSTEM may change them and everything else."""

FIXED_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "summarize_wal": "on",  # incremental backups need it
    "logging_collector": "off",
    "cluster_name": "leitstand",
}
"""What Leitstand relies on; given on the command line, which outweighs every file."""


class EmbeddedError(LeitstandError):
    """The embedded server cannot run on what is in its directory."""

    code = "EMBEDDED_POSTGRES"


class NotAnsweringError(UnavailableError):
    """A server process works on the cluster, but it accepts no connections."""

    code = "EMBEDDED_NOT_ANSWERING"


@dataclass(frozen=True)
class BringUp:
    """One attempt, for one who holds the place's start lock. All methods block."""

    place: Place
    cluster: Cluster
    options: Mapping[str, str]

    def run(self) -> bool:
        """Leave a server that answers and has the database; returns whether it was started."""
        try:
            started = self._find_or_start()
        except OSError as error:
            raise EmbeddedError(
                f"the embedded PostgreSQL cannot be started in {self.place.directory}",
                detail=str(error),
                remedy=self._remedy(),
            ) from error
        _ensure_database(self.cluster.conninfo(self.place.socket_dir))
        return started

    def _find_or_start(self) -> bool:
        if not self.place.cluster.exists():
            self._initialise()
        self._check_version()
        if self.find():
            return False
        self._start()
        return True

    def find(self) -> bool:
        """Whether a server answers; waits for one that is starting or about to end.

        It needs no lock. Raises NotAnsweringError for one that hangs: that gives no sign of life
        for SILENCE_LIMIT, or accepts nobody for START_DEADLINE.
        """
        heard = began = time.monotonic()
        while (pid := self.cluster.running_pid()) is not None:
            sign = self.cluster.ask(self.place.socket_dir)
            if sign is Sign.ACCEPTS:
                return True
            now = time.monotonic()
            heard = now if sign is Sign.REJECTS else heard
            if now - heard > SILENCE_LIMIT or now - began > START_DEADLINE:
                raise self._not_answering(pid, now - heard)
            pause(0.05)  # the server offers no signal to wait for
        # A server in another container, whose process we cannot see, answers all the same.
        return self.cluster.answers(self.place.socket_dir)

    def _not_answering(self, pid: int, silent: float) -> NotAnsweringError:
        if silent > SILENCE_LIMIT:
            return NotAnsweringError(
                f"the embedded PostgreSQL (process {pid}) hangs: no answer for {silent:.0f} s",
                remedy=f"{remedy_for_hanging(pid)} Its log is {self.place.log_file}.",
            )
        return NotAnsweringError(
            f"the embedded PostgreSQL (process {pid}) does not accept connections",
            remedy=f"Its log is {self.place.log_file}. If it makes no progress, stop it"
            f" (kill -INT {pid}); Leitstand will start it again.",
        )

    def _initialise(self) -> None:
        fresh = self.place.new_cluster()
        try:
            Cluster(fresh, self.cluster.binaries, self.place.account).initialise(INITIAL_SETTINGS)
        except ClusterError as error:
            error.remedy = error.remedy or self._remedy()
            raise
        self.place.keep(fresh)
        log.info("embedded database initialised", directory=str(self.place.directory))

    def _start(self) -> None:
        self.place.make_socket_dir()
        self.place.trim_log()
        settings = {**FIXED_SETTINGS, **self.place.access_options(), **self.options}
        try:
            pid = self.cluster.start(
                self.place.socket_dir, self.place.log_file, settings, START_DEADLINE
            )
        except ClusterError as error:
            error.remedy = error.remedy or self._remedy()
            raise
        log.info("embedded database started", pid=pid, directory=str(self.place.directory))

    def _check_version(self) -> None:
        try:
            found = (self.place.cluster / "PG_VERSION").read_text().strip()
        except OSError as error:
            raise EmbeddedError(
                f"{self.place.cluster} is not a complete PostgreSQL data directory",
                detail=str(error),
                remedy="Restore it from a backup, or move it away to begin with an empty one.",
            ) from error
        major = str(self.cluster.binaries.major)
        if found != major:
            raise EmbeddedError(
                f"{self.place.cluster} was made by PostgreSQL {found}, and this Leitstand brings"
                f" PostgreSQL {major}",
                remedy=f"Bring it to version {major} with pg_upgrade, or start the Leitstand that"
                " it belongs to.",
            )

    def _remedy(self) -> str:
        free = _free_bytes(self.place.directory)
        if free < SCARCE:
            return f"Only {free // 1024 // 1024} MiB are free there: make room, and start again."
        return f"Read {self.place.log_file}; a damaged cluster can be restored from a backup."


def _free_bytes(directory: Path) -> int:
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


def _ensure_database(conninfo: str) -> None:
    try:
        with (
            psycopg.connect(conninfo, autocommit=True, connect_timeout=5) as connection,
            cut_off_after(LOGIN_DEADLINE, connection),
        ):
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, (DATABASE,)).fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    except psycopg.OperationalError as error:
        raise UnavailableError(
            "the embedded PostgreSQL runs but does not let us in", detail=str(error).strip()
        ) from error
