"""Servers of the tests' own: unprivileged, in directories of their own, on ports of their own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from leitstand.store.account import server_account

PATIENCE = 60.0


def program(name: str) -> str:
    """A server's program, which may lie outside an ordinary user's PATH."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert found is not None, f"{name} is missing: scripts/system-packages test"
    return found


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class ServerProcess:
    """A server's process; ``log`` gets what it says."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={**os.environ, **(environment or {})},
                **server_account().popen_options(),
            )
        self._log = log

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait for a fact about the server; its death is told at once."""
        until = time.monotonic() + PATIENCE
        while not ready():
            assert self._process.poll() is None, self._log.read_text()[-4000:]
            assert time.monotonic() < until, self._log.read_text()[-4000:]
            time.sleep(0.02)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not help."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end:\n{self._log.read_text()[-4000:]}") from None
        finally:
            self._process.kill()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait(PATIENCE)


def run_as_server(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a program to its end under the servers' account; what it printed."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        env={**os.environ, **(environment or {})},
        check=False,
        **server_account().popen_options(),
    )
    printed: str = done.stdout
    assert done.returncode == 0, printed + done.stderr
    return printed
