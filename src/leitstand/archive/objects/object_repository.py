"""Where snapshots of objects are kept, and with what they are made."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from leitstand.masking import mask_url

_REMOTE = re.compile(r"(?:s3|sftp|rest|rclone|b2|azure|gs|swift):")
"""Restic's names of backends that are no directory (its manual, "Preparing a new repository")."""


@dataclass(frozen=True)
class ObjectRepository:
    """One repository holds all snapshots; ``location`` is a directory or what restic calls one.

    ``home`` is Leitstand's data directory, where the cache is and the notes about calls are.
    ``program`` is restic's path, empty for the one in PATH; ``timeout`` seconds limit each call;
    ``keep`` is how many snapshots rotation keeps.
    """

    location: str
    password: str = field(repr=False)
    home: Path
    program: str = ""
    timeout: float = 86400.0
    keep: int = 7

    @property
    def directory(self) -> Path | None:
        """The repository's directory; None where it is not on a file system of this machine."""
        if _REMOTE.match(self.location):
            return None
        return Path(self.location.removeprefix("local:")).absolute()

    @property
    def address(self) -> str:
        """The location as restic is told it, absolute where it is a directory; with its secrets."""
        return self.location if self.directory is None else str(self.directory)

    @property
    def shown(self) -> str:
        """The location without a password that may be in it; by this it is remembered, too."""
        return mask_url(self.address)

    @property
    def state(self) -> Path:
        """Where the cache and the notes about calls are."""
        return self.home.absolute() / "restic"
