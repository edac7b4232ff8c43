"""An empty repository of restic whose key is derived from ``PASSWORD`` in no time.

A key that ``restic init`` makes takes half a second on purpose, at each call. In this one the
parameters of scrypt, which its file tells, are the smallest ones, and the master key is sealed
with what they give; everything else is as restic made it (its "References: Design" has the format).
"""

import shutil
from pathlib import Path

PASSWORD = "correct horse battery staple"
FILES = Path(__file__).with_name("empty_repository")


def lay_out(directory: Path) -> None:
    """Make the repository in ``directory``, which does not exist yet."""
    shutil.copytree(FILES, directory)
    for name in ("data", "index", "locks", "snapshots"):
        (directory / name).mkdir()
