"""Reconciliation beside the tools of the system for the same: ``sort -c`` and ``comm``, ``find``.

Ten million keys from two sorted files, of which one in a thousand is in one of them only; and
200,000 real files beside ``find`` with ``sort``, which only list them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.server import BenchServer

KEYS = int(os.environ.get("BENCH_KEYS", "10000000"))
FILES = int(os.environ.get("BENCH_FILES", "200000"))
ROUNDS = 3
C = {**os.environ, "LC_ALL": "C"}


def report(server: BenchServer) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="ls-bench-", dir="/tmp") as directory:
        _synthetic(Path(directory))
        _files(Path(directory))


def _synthetic(directory: Path) -> None:
    rows, objects, planted = (directory / name for name in ("rows", "objects", "planted"))
    only_rows, only_objects = [], []
    with rows.open("w") as left, objects.open("w") as right:
        for number in range(KEYS):
            key = f"objects/{number * 256 // KEYS:02x}/{number:010d}-{number * 40503 % 65536:08x}"
            if number % 1000 == 500:
                only_rows.append(key)
            else:
                right.write(key + "\n")
            if number % 1000 == 250:
                only_objects.append(key)
            else:
                left.write(key + "\n")
    planted.write_text(json.dumps([only_rows, only_objects]))

    def floor() -> float:
        began = time.perf_counter()
        for command in (("sort", "-c", rows), ("sort", "-c", objects), ("comm", rows, objects)):
            subprocess.run(command, env=C, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began

    ours, theirs, peak = _in_turns(lambda: _reconciled(rows, objects, planted), floor)
    print(f"reconcile, {KEYS} keys: leitstand {ours:.2f} s, sort -c and comm {theirs:.2f} s")
    print(f"  {ours / theirs:.2f} of the time, {peak / 1e6:.0f} MB at most")


def _files(directory: Path) -> None:
    root, rows, planted = directory / "tree", directory / "paths", directory / "none"
    keys = [f"{n % 256:02x}/{n // 256 % 16:x}/{n:08d}.bin" for n in range(FILES)]
    for parent in sorted({key.rpartition("/")[0] for key in keys}):
        (root / parent).mkdir(parents=True)
    for key in keys:
        (root / key).touch()
    rows.write_text("".join(f"{key}\n" for key in sorted(keys)))
    planted.write_text("[[], []]")

    def floor() -> float:
        began = time.perf_counter()
        command = "find . -type f -printf '%P\\n' | sort > ../found"
        subprocess.run(["sh", "-c", command], env=C, cwd=root, check=True)
        return time.perf_counter() - began

    ours, theirs, _ = _in_turns(lambda: _reconciled(rows, root, planted), floor)
    print(f"reconcile, {FILES} files: leitstand {ours:.2f} s, find and sort {theirs:.2f} s")
    print(f"  {ours / theirs:.2f} of the time")
    shutil.rmtree(root)


def _reconciled(rows: Path, objects: Path, planted: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.listing", rows, objects, planted],
        stdout=subprocess.PIPE,
        check=True,
    )
    said: dict[str, float] = json.loads(done.stdout)
    return said


def _in_turns(
    ours: Callable[[], dict[str, float]], theirs: Callable[[], float]
) -> tuple[float, float, float]:
    """Median seconds of both, and the greatest memory of ours."""
    pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    return (
        median(said["seconds"] for said, _ in pairs),
        median(seconds for _, seconds in pairs),
        max(said["peak"] for said, _ in pairs),
    )
