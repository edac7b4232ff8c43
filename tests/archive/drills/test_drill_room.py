"""What a drill leaves behind when its process is ended, and who cleans it up."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive import drill_database
from leitstand.archive.drills.drill_room import remove_leftovers
from leitstand.store.account import server_account
from leitstand.store.cluster import Cluster
from leitstand.store.reachable import reachable_binaries
from tests.archive.drills.conftest import MakeSettings, left_in
from tests.archive_scene import Archive
from tests.store.embedded_scene import wait_until


@contextmanager
def drilling(archive: Archive, scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A drill in a process of its own that has started its server and waits for an answer."""
    argv = ["-m", "tests.archive.drills.drill_worker", str(archive.newest.path), str(scratch)]
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, cwd=root) as worker:
        assert worker.stdout is not None
        while worker.stdout.readline() != b"queries\n":
            assert worker.poll() is None
        yield worker


def server_in(scratch: Path) -> tuple[int, Path]:
    """The server of the only drill in ``scratch``: its pid and its socket's directory."""
    (room,) = left_in(scratch)
    data = scratch / room / "data"
    account = server_account()
    pid = Cluster(data, reachable_binaries(account), account).running_pid()
    assert pid is not None
    return pid, Path((data / "postmaster.pid").read_text().split("\n")[4])


def test_a_drill_that_is_asked_to_end_leaves_nothing(archive: Archive, short_dir: Path) -> None:
    scratch = short_dir / "drills"
    with drilling(archive, scratch) as worker:
        pid, socket_dir = server_in(scratch)
        assert socket_dir.stat().st_mode & 0o077 == 0
        worker.send_signal(signal.SIGTERM)
        worker.wait(20)
    assert left_in(scratch) == []
    wait_until(lambda: not Path(f"/proc/{pid}").exists())  # it ends after its files are gone
    assert not socket_dir.exists()


def test_the_next_drill_cleans_up_after_one_that_was_killed(
    archive: Archive, short_dir: Path, settings: MakeSettings
) -> None:
    """A drill that runs at the same time is left alone."""
    scratch = short_dir / "drills"
    account = server_account()
    with drilling(archive, scratch) as worker:
        pid, socket_dir = server_in(scratch)
        assert remove_leftovers(scratch, account, reachable_binaries(account)) == []
        worker.kill()
    assert Path(f"/proc/{pid}").exists()
    drill = drill_database(settings(), archive.newest.id)
    assert drill.success, drill.detail
    assert left_in(scratch) == []
    wait_until(lambda: not Path(f"/proc/{pid}").exists())  # it ends after its files are gone
    assert not socket_dir.exists()
