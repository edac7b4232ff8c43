"""What the tests of the embedded server share: processes that use one, and waiting for facts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from leitstand.store.account import account_of, server_account
from leitstand.store.binaries import embedded_binaries
from leitstand.store.cluster import Cluster
from leitstand.store.place import prepare_place

SCRIPT = Path(__file__).with_name("embedded_user.py")


class User:
    """A Leitstand process of its own that uses the embedded server of ``data_dir``.

    ``uid`` is the user to run as, which only root can choose.
    """

    def __init__(self, data_dir: Path, uid: int | None = None) -> None:
        become = [] if uid is None else [str(uid)]
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(SCRIPT), str(data_dir), *become],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def opened(self) -> dict[str, Any]:
        """What it says once it is in: ``conninfo`` and ``server_pid``."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        facts: dict[str, Any] = json.loads(line)
        return facts

    def leave(self) -> None:
        """Let it end as it should; it must not have complained."""
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        assert "Warning" not in errors

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.communicate(timeout=60)


def cluster_below(data_dir: Path) -> Cluster:
    """The cluster of the embedded server, to look at it from outside."""
    directory = data_dir / "postgres" / "cluster"
    return Cluster(directory, embedded_binaries(), account_of(directory))


def copy_cluster(source: Path, data_dir: Path) -> None:
    """Make ``data_dir`` one whose cluster is a copy of ``source``; quicker than initdb."""
    place = prepare_place(data_dir)
    shutil.copytree(source, place.cluster)
    server_account().own_tree(place.cluster)


def stop_leftover(data_dir: Path) -> bool:
    """Stop the server that is left below ``data_dir``; whether there was one."""
    if not (data_dir / "postgres" / "cluster").exists():
        return False
    return cluster_below(data_dir).stop()


def wait_until(condition: Callable[[], bool], deadline: float = 20.0) -> None:
    """Wait for what no signal announces."""
    until = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def processes_about(directory: Path) -> list[str]:
    """The command lines that name ``directory``, of processes that have not ended."""
    found = []
    for entry in os.scandir("/proc"):
        try:
            command = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(directory) in command:
            found.append(command)
    return found


@contextmanager
def hanging(cluster: Cluster) -> Iterator[None]:
    """The server with all its processes stands still, as on a disk that does not answer."""
    postmaster = cluster.running_pid()
    assert postmaster is not None
    stopped = [postmaster]
    try:
        _signal(postmaster, signal.SIGSTOP)  # first, so that it starts no further child
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
        for pid in map(int, children.split()):
            stopped.append(pid)
            _signal(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(stopped):
            _signal(pid, signal.SIGCONT)


def _signal(pid: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, how)
