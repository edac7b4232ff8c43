"""Peers from the package index, in an environment of their own that is thrown away.

They are not among our dependencies: nothing but these measurements uses them, and what they
depend on must not decide which versions we use.
"""

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PINNED = ("barman==3.19.1", "psycopg2-binary==2.9.13", "restverify==0.3.1")


@contextmanager
def peers() -> Iterator[Path]:
    """The directory of their programs, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="ls-peers-", dir="/tmp") as directory:
        venv.create(directory, with_pip=True)
        programs = Path(directory) / "bin"
        argv = [str(programs / "python"), "-m", "pip", "install", "-q", *PINNED]
        subprocess.run(argv, check=True, timeout=600, stdout=sys.stderr)
        yield programs
