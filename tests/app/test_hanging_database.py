"""The embedded PostgreSQL stands still: the server lives on, says so, and ends in time."""

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.app.installation import Installation
from tests.ports import free_port
from tests.store.embedded_scene import cluster_below, hanging, stop_leftover, wait_until

GRACE = 4.0
CONFIGURATION = f"""
[loop]
tick = "1s"
heartbeat = "1s"
stale_after = "5m"
shutdown_grace = "{GRACE:g}s"
[protection]
enabled = false
[[job]]
name = "nap"
kind = "command"
params = {{ argv = ["sleep", "600"] }}
"""


@pytest.fixture
def place(short_dir: Path) -> Iterator[Installation]:
    """An installation whose server would go on with its runs for minutes without a database."""
    (short_dir / "leitstand.toml").write_text(CONFIGURATION)
    yield Installation(short_dir, free_port())
    stop_leftover(short_dir / "var")


def test_it_lives_on_and_recovers(place: Installation) -> None:
    """Case 21: red while it lasts; nothing is lost by a hang that is shorter than stale."""
    with place.serving() as server:
        run = start_nap(place)
        with hanging(cluster_below(place.directory / "var")):
            with ThreadPoolExecutor() as pool:
                asked = {
                    command: pool.submit(timed, place, *command.split())
                    for command in ("run list", "doctor", "health ready")
                }
                slowest = slowest_answer(place, lambda: all(f.done() for f in asked.values()))
            assert slowest < 1.0
            assert readiness(place) == 503
        for command, future in asked.items():
            code, said, seconds = future.result()
            assert (code, seconds < 20) == (1, True), (command, said, seconds)
        assert "hangs" in asked["run list"].result()[1]
        assert "kill -CONT" in asked["doctor"].result()[1]
        assert "database" in asked["health ready"].result()[1]
        place.wait_for(lambda: readiness(place) == 200, 30)
        place.wait_for(lambda: place.json("server", "list")[0]["silent_for"] < 3, 30)
        assert place.json("run", "show", run)["status"] == "running"
        place.json("run", "cancel", run)
        place.wait_for(lambda: place.json("run", "show", run)["status"] == "cancelled", 30)
        end_in_time(place, server.process)


def test_it_ends_in_time_and_the_next_start_makes_up_for_it(place: Installation) -> None:
    """Cases 46 and 58: exit within the grace and a bit, non-zero, the result kept on disk."""
    with place.serving() as server:
        run = start_nap(place)
        cluster = cluster_below(place.directory / "var")
        with hanging(cluster):
            end_in_time(place, server.process, 1)
            assert len(list((place.directory / "var/spool").glob("*.json"))) == 1
            with place.starting() as second:
                wait_until(lambda: catches_sigterm(second.pid))
                end_in_time(place, second)
        wait_until(lambda: cluster.running_pid() is None)  # it had been told to stop
    assert "does not stop; it hangs" in (place.directory / "serve.log").read_text()
    with place.serving() as third:
        place.wait_for(lambda: place.json("run", "show", run)["status"] == "cancelled", 30)
        end_in_time(place, third.process)


def test_a_database_that_swallows_everything(place: Installation) -> None:
    """Case 46: at the start, and for commands; SIGTERM is obeyed at once."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{place.directory}/.s.PGSQL.5432")
        listener.listen()
        with (place.directory / "leitstand.toml").open("a") as configuration:
            configuration.write(f'[database]\nurl = "postgresql:///x?host={place.directory}"\n')
        with place.starting() as server, ThreadPoolExecutor() as pool:
            asked = [pool.submit(timed, place, *c.split()) for c in ("job list", "doctor")]
            wait_until(lambda: catches_sigterm(server.pid))
            end_in_time(place, server)
    for future in asked:
        code, said, seconds = future.result()
        assert (code, seconds < 20) == (1, True), (said, seconds)
        assert "has not answered within 10 s" in said


def start_nap(place: Installation) -> str:
    """The number of a run that goes on until it is told to end."""
    run = str(place.json("job", "run", "nap")["id"])
    place.wait_for(lambda: place.json("run", "show", run)["status"] == "running")
    return run


def end_in_time(place: Installation, server: "subprocess.Popen[str]", status: int = 0) -> None:
    """Send SIGTERM; the server ends with this exit status soon after its grace, if not before."""
    began = time.monotonic()
    server.send_signal(signal.SIGTERM)
    place.must_end(server, status)
    assert time.monotonic() - began < GRACE + 8, place.last_words()


def timed(place: Installation, *command: str) -> tuple[int, str, float]:
    """A command's exit code, all that it said, and the seconds it took."""
    began = time.monotonic()
    ended = place.run(*command)
    return ended.code, ended.out + ended.err, time.monotonic() - began


def slowest_answer(place: Installation, over: Callable[[], bool]) -> float:
    """Ask for liveness until ``over``; the longest that an answer took."""
    slowest = 0.0
    while not over():
        began = time.monotonic()
        assert answer(place, "livez") == 200
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.1)  # a question now and then, as a monitor asks
    return slowest


def readiness(place: Installation) -> int:
    """The status of /readyz, which must come within its checks' time."""
    began = time.monotonic()
    status = answer(place, "readyz")
    assert time.monotonic() - began < 3.5
    return status


def answer(place: Installation, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{place.port}/{path}", timeout=20) as got:
            return int(got.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def catches_sigterm(pid: int) -> bool:
    """Whether the process has said what is to happen at SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)
