"""One PostgreSQL data directory and the server on it: initialise, start, find, stop.

Used for the embedded server, for restore drills and by the tests. It never signals a process it
has not identified: the pid in ``postmaster.pid`` counts only while that process works in this very
data directory (``/proc/PID/cwd``), so a reused pid or a foreign server is never touched.
All calls block; they belong in a thread.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

from leitstand.errors import LeitstandError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries

SOCKET_PATH_LIMIT = 107
"""Bytes that a Unix socket's path may have (sun_path on Linux, without the closing NUL)."""

SUPERUSER = "leitstand"


class ClusterError(LeitstandError):
    """A PostgreSQL server of ours could not be initialised, started or stopped."""

    code = "POSTGRES_SERVER"


@dataclass(frozen=True)
class Cluster:
    """A data directory together with the programs and the account that serve it."""

    data: Path
    binaries: Binaries
    account: Account

    def initialised(self) -> bool:
        """Whether initdb has completed here; Leitstand renames a cluster into place only then."""
        return (self.data / "PG_VERSION").is_file()

    def initialise(self) -> None:
        """Run initdb in ``data``, which must be absent or empty and owned by the account."""
        self._run_to_end(
            "initdb",
            "--pgdata",
            str(self.data),
            f"--username={SUPERUSER}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--auth=peer",
        )

    def running_pid(self) -> int | None:
        """The postmaster's process id if a server runs on this very directory, else None."""
        pid = self._recorded_pid()
        return pid if pid is not None and self._serves_here(pid) else None

    def start(
        self, socket_dir: Path, log_file: Path, options: Mapping[str, str], deadline: float = 60.0
    ) -> int:
        """Start the server and return its pid once it answers, at most ``deadline`` seconds later.

        ``options`` override the configuration files. Output goes to ``log_file``, never to an
        inherited pipe. Raises ClusterError with the log's last lines if the server ends or does
        not answer in time (it is stopped then).
        """
        self._check_socket_path(socket_dir)
        self._remove_stale_pid_file()
        settings = {"unix_socket_directories": str(socket_dir), **options}
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        with log_file.open("ab") as log:
            self.account.own(log_file)
            log_start = log.tell()
            process = subprocess.Popen(
                [self.binaries.path("postgres"), "-D", str(self.data), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data,
                start_new_session=True,
                **self.account.popen_options(),
            )
        try:
            self._wait_until_ready(process, socket_dir, time.monotonic() + deadline)
        except BaseException as error:
            self.stop()
            process.wait()
            if isinstance(error, ClusterError):
                error.detail = _tail(log_file, log_start)
            raise
        return process.pid

    def stop(self, deadline: float = 30.0) -> bool:
        """Stop the server on this directory, fast first, immediately after ``deadline`` seconds.

        Returns whether one was running. Sessions are rolled back, not waited for.
        """
        pid = self.running_pid()
        if pid is None:
            return False
        for how, patience in ((signal.SIGINT, deadline), (signal.SIGQUIT, 10.0)):
            if self._signal_and_wait(pid, how, patience):
                return True
        raise ClusterError(
            f"the PostgreSQL server {pid} on {self.data} does not stop",
            remedy="It waits for the disk, most likely; look at the machine's I/O and try again.",
        )

    def conninfo(self, socket_dir: Path, dbname: str = "postgres") -> str:
        """The connection string for local connections; it holds no secret."""
        return psycopg.conninfo.make_conninfo(
            host=str(socket_dir), port=5432, user=SUPERUSER, dbname=dbname
        )

    def _recorded_pid(self) -> int | None:
        try:
            first = (self.data / "postmaster.pid").read_text().split("\n", 1)[0]
            return abs(int(first))
        except (FileNotFoundError, ValueError):
            return None

    def _serves_here(self, pid: int) -> bool:
        try:
            return os.path.samefile(f"/proc/{pid}/cwd", self.data) and not _is_zombie(pid)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            return False

    def _remove_stale_pid_file(self) -> None:
        # PostgreSQL itself refuses to start when the recorded pid belongs to any process of the
        # same user by now; whether it serves this directory is known better here.
        if self._recorded_pid() is not None and self.running_pid() is None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _signal_and_wait(self, pid: int, how: signal.Signals, patience: float) -> bool:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return True
        until = time.monotonic() + patience
        while self._serves_here(pid):
            _reap(pid)
            if time.monotonic() > until:
                return False
            time.sleep(0.02)  # a postmaster that is not our child can only be polled
        return True

    def _wait_until_ready(
        self, process: subprocess.Popen[bytes], socket_dir: Path, until: float
    ) -> None:
        while time.monotonic() < until:
            if process.poll() is not None:
                raise ClusterError(
                    f"PostgreSQL on {self.data} ended while starting (status {process.returncode})"
                )
            if self.answers(socket_dir):
                return
            time.sleep(0.02)  # the server offers no signal to wait for
        raise ClusterError(f"PostgreSQL on {self.data} did not answer in time")

    def answers(self, socket_dir: Path) -> bool:
        """Whether a server behind ``socket_dir`` accepts connections, whoever may log in."""
        status = psycopg.pq.PGconn.ping(self.conninfo(socket_dir).encode())
        return status == psycopg.pq.Ping.OK

    def _check_socket_path(self, socket_dir: Path) -> None:
        path = f"{socket_dir}/.s.PGSQL.5432"
        if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
            raise ClusterError(
                f"the socket path {path} is longer than {SOCKET_PATH_LIMIT} bytes",
                remedy="Choose a shorter directory.",
            )

    def _run_to_end(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.binaries.path(program), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
            check=False,
            **self.account.popen_options(),
        )
        if done.returncode != 0:
            raise ClusterError(f"{program} failed on {self.data}", detail=done.stderr.strip())


def _is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[0] == b"Z"


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # started by another process
        pass


def _tail(log_file: Path, start: int, limit: int = 4000) -> str:
    with log_file.open("rb") as log:
        log.seek(max(start, log_file.stat().st_size - limit))
        return log.read().decode(errors="replace").strip()
