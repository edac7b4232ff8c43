"""Measurements that are ended leave no server behind."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.execution.processes import gone, until

ROOT = Path(__file__).parents[1]
WAITING = """
import signal
from bench.__main__ import PARTS, main

def wait(server):
    print(server.cluster.running_pid(), server.directory, flush=True)
    signal.pause()

PARTS.clear()
PARTS["wait"] = wait
main()
"""


def test_a_terminated_measurement_ends_its_server() -> None:
    argv = [sys.executable, "-c", WAITING]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        pid, directory = bench.stdout.readline().split()
        bench.terminate()
    assert bench.returncode == 128 + signal.SIGTERM
    assert not Path(directory).exists()
    until(lambda: gone(int(pid)), 10)
