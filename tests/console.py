"""Commands of ``leitstand`` in processes of their own, forked from one that has imported them all.

All but the start of Python is as with the installed script, by which every control server and agent
of the tests is started.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from leitstand.cli.command_table import COMMANDS
from leitstand.cli.main import main
from tests.nursery import NURSERY

for entry in COMMANDS.values():
    import_module(entry.module)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be exactly one document."""
        return json.loads(self.out)


def leitstand(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float = 120.0
) -> Ended:
    """Run a command to its end; nothing but ``environment`` is in its environment."""
    with tempfile.TemporaryDirectory(prefix="said-") as place:
        streams = (Path(place) / "out", Path(place) / "err")
        process = NURSERY.Process(target=_carry_out, args=(arguments, cwd, environment, streams))
        process.start()
        try:
            process.join(timeout)
            assert process.exitcode is not None, f"{arguments} did not end within {timeout:g} s"
        finally:
            process.kill()
            process.join()
        code = process.exitcode
        process.close()
        return Ended(code, *(stream.read_text() for stream in streams))


def _carry_out(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], streams: Sequence[Path]
) -> None:
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    time.tzset()
    sys.argv = ["leitstand", *arguments]
    main()
