"""What the archive is told by the configuration, in its own terms."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from leitstand.archive.drills.copy_check import ExpectedAnswer
from leitstand.archive.hindrance import UnwritableError
from leitstand.archive.objectives import Objectives
from leitstand.archive.postgres.backup import Repository
from leitstand.archive.postgres.canary import CanaryChoice
from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.retention import Policy
from leitstand.errors import NotFoundError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries, find_binaries
from leitstand.store.reachable import reachable_binaries, reachable_directory


@dataclass(frozen=True)
class DrillSettings:
    """Where drills unpack, what they ask, and how many seconds each phase may take.

    ``canaries`` are asked of the server when it is backed up, and of the copy in the drill.
    """

    directory: Path
    queries: Sequence[ExpectedAnswer] = ()
    phase_timeout: float = 3600.0
    canaries: CanaryChoice = field(default_factory=CanaryChoice)


@dataclass(frozen=True)
class ArchiveSettings:
    """Where backups are, with which programs they are made, for how long they are kept, and what
    was promised of them.

    ``bin_dir`` is empty for the programs that come with Leitstand.
    """

    directory: Path
    restore_log: Path
    level: int
    policy: Policy
    drill: DrillSettings
    bin_dir: str = ""
    config_files: tuple[str, ...] = ()
    objectives: Objectives = field(default_factory=Objectives)

    @cached_property
    def binaries(self) -> Binaries:
        """PostgreSQL's programs; raises ProgramsMissingError."""
        return find_binaries(self.bin_dir)

    def policy_keeping(self, keep: int | None) -> Policy:
        """The policy, with another number of newest generations if ``keep`` is given."""
        return self.policy if keep is None else replace(self.policy, keep=keep)

    def repository(self, conninfo: str) -> Repository:
        """The backup directory, and the server behind ``conninfo`` as its source."""
        source = Source.parse(conninfo)
        return Repository(
            source,
            self.directory,
            self.binaries,
            self.level,
            self.scratch,
            self.drill.canaries,
            self.config_files,
        )

    def server_programs(self, account: Account) -> Binaries:
        """The programs where ``account`` can execute them."""
        return self.binaries if self.bin_dir else reachable_binaries(account)

    def drill_scratch(self, account: Account) -> Path:
        """The drills' directory, made where ``account`` can reach it.

        Raises UnwritableError, UnreachableError.
        """
        directory = self.drill.directory
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            return reachable_directory(directory, account)
        except OSError as error:
            raise UnwritableError(
                f"the directory for drills {directory} cannot be made: {error.strerror}",
                detail=str(error),
                remedy="Look for room and permissions, or set drill.directory.",
            ) from error

    @property
    def scratch(self) -> Path | None:
        """Where WAL is unpacked to be verified: where drills are, since there is room.

        None, the system's temporary directory, where there were no drills yet or only others may
        write.
        """
        directory = self.drill.directory
        usable = directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)
        return directory if usable else None


def no_generation(directory: Path) -> NotFoundError:
    """The error for a backup directory without any generation."""
    return NotFoundError(
        f"no backup found in {directory}",
        remedy="If there should be some, mount the disk that they are on; else take one:"
        " leitstand backup postgres full",
    )
