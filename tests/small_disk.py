"""Real file systems without room: a tmpfs that only one command sees, in a mount namespace.

Root mounts it as such, anybody else in a user namespace, so that no test needs to be root.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

_AS_ROOT = ("unshare", "--mount")
_AS_ANYBODY = ("unshare", "--mount", "--user", "--map-current-user", "--keep-caps")
_MOUNT = 'mount -t tmpfs -o "size=$0,mode=0777" none "$1"'


def on_small_disk(argv: Sequence[str], disk: Path, size: str) -> list[str]:
    """``argv`` as a command for which the directory ``disk`` has ``size`` (``64k``) and no more.

    In the end it prints what lies on the disk, a name a line.
    """
    script = f'{_MOUNT} && shift && "$@"; ls -A "{disk}"'
    return [*_namespace(), "sh", "-c", script, size, str(disk), *argv]


def full_for(program: str, directory: Path, script: Path) -> Path:
    """Make ``script``, which is ``program`` for which the directory ``directory`` is full."""
    fill = f'{_MOUNT} && head -c 4096 /dev/zero >"$1/fill"; shift; exec {program} "$@"'
    words = [*_namespace(), "sh", "-c", fill, "4k", str(directory)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return script


def _namespace() -> Sequence[str]:
    return _AS_ROOT if os.geteuid() == 0 else _AS_ANYBODY
