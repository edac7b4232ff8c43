"""One PostgreSQL data directory and the server on it: initialise, start, find, stop.

Used for the embedded server, for restore drills and by the tests. It never signals a process it
has not identified: the pid in ``postmaster.pid`` counts only while that process works in this very
data directory (``/proc/PID/cwd``), so a reused pid or a foreign server is never touched.
All calls block; they belong in a thread, and end at the next pause when it is given up.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psycopg

from leitstand.errors import LeitstandError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries
from leitstand.store.interruptible import pause

SOCKET_PATH_LIMIT = 107
"""Bytes that a Unix socket's path may have (sun_path on Linux, without the closing NUL)."""

SUPERUSER = "leitstand"

ORPHAN_PATIENCE = 10.0
"""Seconds that the children of a killed server get to notice that it is gone."""

INITDB_DEADLINE = 120.0
"""Seconds that initdb may take."""

PING_TIMEOUT = 5.0
"""Seconds that a server may take to answer whether it accepts connections."""

NO_SUCH_DATABASE = "3D000"
"""The SQLSTATE of a login to a database that does not exist."""

QUIT_PATIENCE = 2.0
"""Seconds that a single-user process gets to end in order: it leaves shared memory otherwise."""

SOON = ((signal.SIGINT, 3.0), (signal.SIGQUIT, 1.0), (signal.SIGKILL, 1.0))
"""How a server that did not become ready is ended, and the seconds that each signal gets."""

_children: set[int] = set()
"""The pids of servers that this process started and whose end it has not seen yet."""


class ClusterError(LeitstandError):
    """A PostgreSQL server of ours could not be initialised, started or stopped."""

    code = "POSTGRES_SERVER"


class NoSuchDatabaseError(ClusterError):
    """The cluster has no database of that name."""

    code = "POSTGRES_NO_DATABASE"


class Sign(Enum):
    """What a server says when asked whether it accepts connections; values of pg_isready."""

    ACCEPTS = 0
    REJECTS = 1
    """It lives, but is starting, recovering or about to end."""
    SILENT = 2
    """Nothing answers: there is no server, or it hangs."""


@dataclass(frozen=True)
class Cluster:
    """A data directory together with the programs and the account that serve it."""

    data: Path
    binaries: Binaries
    account: Account

    def initialised(self) -> bool:
        """Whether initdb has completed here; Leitstand renames a cluster into place only then."""
        return (self.data / "PG_VERSION").is_file()

    def initialise(self, settings: Mapping[str, str] | None = None) -> None:
        """Run initdb in ``data``, which must be absent or empty and owned by the account.

        ``settings`` are written to postgresql.conf, where ALTER SYSTEM may override them.
        """
        self._run_to_end(
            "initdb",
            "--pgdata",
            str(self.data),
            f"--username={SUPERUSER}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--auth=peer",
            *(f"--set={name}={value}" for name, value in (settings or {}).items()),
        )

    def running_pid(self) -> int | None:
        """The postmaster's process id if a server runs on this very directory, else None."""
        _reap_ended()
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
        self._clear_the_way()
        log_start = log_file.stat().st_size if log_file.exists() else 0
        settings = _as_arguments({**_socket_settings(socket_dir), **options})
        process = self._launch(log_file, ["-D", str(self.data), *settings])
        try:
            self._wait_until_ready(process, socket_dir, time.monotonic() + deadline)
        except BaseException as error:
            _end_child(process)
            if isinstance(error, ClusterError):
                error.detail = _tail(log_file, log_start)
            raise
        _leave_to_itself(process)
        return process.pid

    def single_user(
        self,
        database: str,
        statements: Sequence[str],
        log_file: Path,
        options: Mapping[str, str],
        deadline: float,
    ) -> str:
        """Carry out ``statements``, of one line each, without a server; returns what they print.

        They run as the bootstrap superuser, whatever its name is. PostgreSQL reads no settings of
        databases and roles in this mode, fires no event trigger and lets nobody else in. Recovery
        comes first where it is needed. Raises ClusterError with the log's last lines if a statement
        fails or all is not done ``deadline`` seconds later, NoSuchDatabaseError.
        """
        log_start = log_file.stat().st_size if log_file.exists() else 0
        settings = _as_arguments({**options, "exit_on_error": "on", "log_line_prefix": "%e "})
        arguments = ["--single", "-D", str(self.data), *settings, database]
        process = self._launch(log_file, arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        script = "".join(f"{statement}\n" for statement in statements)
        try:
            output, _ = process.communicate(script.encode(), timeout=deadline)
        except subprocess.TimeoutExpired as error:
            problem = f"PostgreSQL alone on {self.data} did not end within {deadline:g} s"
            raise ClusterError(problem, detail=_tail(log_file, log_start)) from error
        finally:
            _end_alone(process)
        if process.returncode != 0:
            raise _failed_alone(self.data, process.returncode, _tail(log_file, log_start))
        return output.decode(errors="replace")

    def _launch(
        self,
        log_file: Path,
        arguments: Sequence[str],
        stdin: int = subprocess.DEVNULL,
        stdout: int | None = None,
    ) -> subprocess.Popen[bytes]:
        with open(log_file, "ab", opener=_open_log) as log:
            self.account.own(log_file)
            return subprocess.Popen(
                [self.binaries.path("postgres"), *arguments],
                stdin=stdin,
                stdout=log if stdout is None else stdout,
                stderr=log,
                cwd=self.data,
                env=_environment(),
                start_new_session=True,
                **self.account.popen_options(),
            )

    def stop(self, deadline: float = 30.0, last_words: float = 10.0) -> bool:
        """Stop the server on this directory, fast first, immediately after ``deadline`` seconds.

        Returns whether one was running. Sessions are rolled back, not waited for. Raises
        ClusterError if it still runs ``last_words`` seconds after that; as it has been told to
        stop, it does so as soon as it can.
        """
        pid = self.running_pid()
        if pid is None:
            return False
        for how, patience in ((signal.SIGINT, deadline), (signal.SIGQUIT, last_words)):
            if self._signal_and_wait(pid, how, patience):
                return True
        raise ClusterError(
            f"the PostgreSQL server {pid} on {self.data} does not stop; it hangs",
            remedy=f"{remedy_for_hanging(pid)} It has been told to stop, and the next start finds"
            " it gone or waits for it.",
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
        return self._works_here(f"/proc/{pid}") and not _is_zombie(pid)

    def _works_here(self, process: str) -> bool:
        # The directory alone is not enough: a shell may stand in it, too.
        try:
            with open(f"{process}/comm") as comm:
                name = comm.read().strip()
            return name == "postgres" and os.path.samefile(f"{process}/cwd", self.data)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            return False

    def _clear_the_way(self) -> None:
        """Get over what a server that was killed left: its children, and its pid in use again."""
        recorded = self._recorded_pid()
        if recorded is None or self.running_pid() is not None:
            return
        self._wait_for_orphans(time.monotonic() + ORPHAN_PATIENCE)
        # PostgreSQL judges a stale file rightly (and looks for leftover shared memory by it), but
        # it refuses to start once any process of the same user has the recorded pid.
        if Path(f"/proc/{recorded}").exists():
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _wait_for_orphans(self, until: float) -> None:
        # They notice the postmaster's death by themselves, usually at once. If they do not,
        # PostgreSQL refuses to start beside them, and says so in its log.
        while time.monotonic() < until and self._any_process_here():
            pause(0.05)

    def _any_process_here(self) -> bool:
        with os.scandir("/proc") as entries:
            return any(self._works_here(e.path) for e in entries if e.name.isdigit())

    def _signal_and_wait(self, pid: int, how: signal.Signals, patience: float) -> bool:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return True
        until = time.monotonic() + patience
        while self._serves_here(pid):
            _reap_ended()
            if time.monotonic() > until:
                return False
            pause(0.02)  # a postmaster that is not our child can only be polled
        _reap_ended()
        return True

    def _wait_until_ready(
        self, process: subprocess.Popen[bytes], socket_dir: Path, until: float
    ) -> None:
        while time.monotonic() < until:
            if process.poll() is not None:
                raise ClusterError(
                    f"PostgreSQL on {self.data} ended while starting (status {process.returncode})"
                )
            # Another server here may be the one that answers, and ours about to give up.
            if self.running_pid() == process.pid and self.answers(socket_dir):
                return
            pause(0.02)  # the server offers no signal to wait for
        raise ClusterError(f"PostgreSQL on {self.data} did not answer in time")

    def answers(self, socket_dir: Path) -> bool:
        """Whether a server behind ``socket_dir`` accepts connections, whoever may log in."""
        return self.ask(socket_dir) is Sign.ACCEPTS

    def ask(self, socket_dir: Path, patience: float = PING_TIMEOUT) -> Sign:
        """What a server behind ``socket_dir`` says within ``patience`` seconds.

        By a program of its own: libpq's PQping would hold the interpreter's lock while it waits,
        and with it every thread, the heartbeat's among them.
        """
        arguments = ["--quiet", "--timeout=0", f"--dbname={self.conninfo(socket_dir)}"]
        asking = subprocess.Popen(
            [self.binaries.path("pg_isready"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=_environment(),
        )
        try:
            until = time.monotonic() + patience
            while asking.poll() is None and time.monotonic() < until:
                pause(0.005)
        finally:
            asking.kill()
            status = asking.wait()
        return Sign(status) if status in (0, 1) else Sign.SILENT

    def _check_socket_path(self, socket_dir: Path) -> None:
        path = f"{socket_dir}/.s.PGSQL.5432"
        if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
            raise ClusterError(
                f"the socket path {path} is longer than {SOCKET_PATH_LIMIT} bytes",
                remedy="Choose a shorter directory.",
            )

    def _run_to_end(self, program: str, *arguments: str) -> None:
        with subprocess.Popen(
            [self.binaries.path(program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env=_environment(),
            start_new_session=True,
            **self.account.popen_options(),
        ) as running:
            try:
                said = _said(running, time.monotonic() + INITDB_DEADLINE)
            finally:
                if running.poll() is None:
                    os.killpg(running.pid, signal.SIGKILL)  # the server that it runs, too
        if said is None:
            raise ClusterError(f"{program} on {self.data} did not end in {INITDB_DEADLINE:g} s")
        if running.returncode != 0:
            raise ClusterError(f"{program} failed on {self.data}", detail=said.strip())


def remedy_for_hanging(pid: int) -> str:
    """What somebody can do about the process ``pid``, which does not go on."""
    try:
        state = _state(pid)
    except OSError:
        state = b""
    if state in (b"T", b"t"):
        return f"Process {pid} was stopped by a signal: let it go on (kill -CONT {pid})."
    if state == b"D":
        return f"Process {pid} waits for a disk or network file system: look at dmesg and iostat."
    return f"See what process {pid} and its children wait for (ps, iostat, dmesg)."


def _is_zombie(pid: int) -> bool:
    return _state(pid) == b"Z"


def _state(pid: int) -> bytes:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[0]


def _said(process: subprocess.Popen[str], until: float) -> str | None:
    """What the process wrote to standard error by its end; None if it has not ended in time."""
    while time.monotonic() < until:
        try:
            return process.communicate(timeout=0.05)[1]
        except subprocess.TimeoutExpired:
            pause(0)
    return None


def _socket_settings(socket_dir: Path) -> dict[str, str]:
    # The setting is a list; quoted, a comma or a space in the path means itself.
    quoted = str(socket_dir).replace('"', '""')
    return {"unix_socket_directories": f'"{quoted}"', "port": "5432"}


def _as_arguments(settings: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in settings.items()]


def _failed_alone(data: Path, status: int, log: str) -> ClusterError:
    # By SQLSTATE: the text is in the language of the server.
    missing = re.search(rf"^{NO_SUCH_DATABASE} ", log, re.MULTILINE)
    error = NoSuchDatabaseError if missing else ClusterError
    return error(f"PostgreSQL alone on {data} failed (status {status})", detail=log)


def _environment() -> dict[str, str]:
    """The little that PostgreSQL's programs need of our environment.

    PGPORT and its kin would change what they do, and our secrets are none of their business.
    """
    return {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}


def _leave_to_itself(process: subprocess.Popen[bytes]) -> None:
    # The server outlives this object on purpose; a Popen that is dropped without a return code
    # warns about a running child. _reap_ended fetches the true status when the server has ended.
    _reap_ended()
    _children.add(process.pid)
    process.returncode = 0


def _reap_ended() -> None:
    """Fetch the status of every server that this process started and that has ended."""
    for pid in tuple(_children):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # somebody else fetched it, or this is a fork
            ended = pid
        if ended:
            _children.discard(pid)


def _end_child(process: subprocess.Popen[bytes]) -> None:
    """End a server that did not become ready; its pid is ours until it is waited for."""
    for how, patience in SOON:
        process.send_signal(how)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return


def _end_alone(process: subprocess.Popen[bytes]) -> None:
    """End a single-user process, if it has not ended, and close the pipes to it."""
    if process.poll() is None:
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(QUIT_PATIENCE)
        except subprocess.TimeoutExpired:  # replaying WAL alone, it hears nothing milder
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _open_log(path: str, flags: int) -> int:
    # Statements and values stand in it. As root, follow no link that somebody else put there.
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _tail(log_file: Path, start: int, limit: int = 4000) -> str:
    with log_file.open("rb") as log:
        log.seek(max(start, log_file.stat().st_size - limit))
        return log.read().decode(errors="replace").strip()
