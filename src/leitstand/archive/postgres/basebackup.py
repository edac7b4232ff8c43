"""Runs ``pg_basebackup`` into a new directory, and says what its failures mean."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.hindrance import obstacle_said
from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.program import Ended, run_program
from leitstand.errors import FailureClass, LeitstandError
from leitstand.store.binaries import Binaries

_PROGRESS = re.compile(r"(\d+)/(\d+) kB \(\d+%\), \d+/\d+ tablespaces?")

_NEEDS_FULL = re.compile(
    r"WAL summaries are required"
    r"|incremental backups cannot be taken unless"
    r"|system identifier in backup manifest"
    r"|manifest requires WAL from"
    r"|not this server's"
    r"|could not find.*timeline"
    r"|cannot be taken because .*timeline"
    r"|WAL summarization is not progressing",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"could not connect|connection to server|server closed the connection|could not receive"
    r"|terminating connection|too many (clients|connections)|number of requested standby"
    r"|all replication slots are in use|No space left|shutting down|starting up",
    re.IGNORECASE,
)


class BasebackupError(LeitstandError):
    """``pg_basebackup`` failed; ``detail`` holds its last lines."""

    code = "BACKUP_FAILED"


class IncrementalNeedsFullError(LeitstandError):
    """No increment can follow the newest backup; only a full one can."""

    code = "BACKUP_NEEDS_FULL"


@dataclass(frozen=True)
class BackupProgress:
    """How far a backup is; ``bytes_total`` is the server's estimate, 0 while unknown."""

    phase: str
    bytes_done: int = 0
    bytes_total: int = 0

    @property
    def percent(self) -> float | None:
        """0 to 100, None while unknown."""
        if self.bytes_total == 0:
            return None
        return min(100.0, 100.0 * self.bytes_done / self.bytes_total)


Report = Callable[[BackupProgress], None]
"""Called at least every half second; whatever it raises ends the backup, which is cleaned up."""


@dataclass(frozen=True)
class Basebackup:
    """One run: from where, to which new directory, gzip level, the parent's manifest or None."""

    source: Source
    directory: Path
    binaries: Binaries
    level: int
    parent_manifest: Path | None

    def run(self, report: Report) -> None:
        """Back up; raises IncrementalNeedsFullError, BasebackupError. The directory may be left."""
        watch = _Watch(report)
        ended = run_program(self._argv(), self.source.environment(), watch.line)
        if ended.exit_code != 0:
            raise _failure(ended, self.source, incremental=self.parent_manifest is not None)

    def _argv(self) -> list[str]:
        argv = [
            self.binaries.path("pg_basebackup"),
            "--pgdata",
            str(self.directory),
            "--format=tar",
            f"--compress=client-gzip:{self.level}",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--no-password",
            "--no-sync",  # done while the backup is verified: durable.py
            f"--manifest-checksums={MANIFEST_CHECKSUMS}",
            "--progress",
            *self.source.arguments(),
        ]
        if self.parent_manifest is not None:
            argv.append(f"--incremental={self.parent_manifest}")
        return argv


MANIFEST_CHECKSUMS = "CRC32C"
"""Guards the way from the server's disk to here; the archives themselves are under our SHA-256.

SHA256 here makes a backup take a quarter longer with programs built without OpenSSL.
"""


class _Watch:
    """Turns the program's progress lines into reports."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._last = BackupProgress("copy")

    def line(self, line: str | None) -> bool:
        found = _PROGRESS.search(line) if line is not None else None
        if found is not None:
            done, total = (int(number) * 1024 for number in found.groups())
            self._last = BackupProgress("copy", done, total)
        self._report(self._last)
        return found is not None


def _failure(ended: Ended, source: Source, *, incremental: bool) -> LeitstandError:
    detail = ended.text
    if source.password:
        detail = detail.replace(source.password, "***")
    if incremental and _NEEDS_FULL.search(detail):
        return IncrementalNeedsFullError(
            "the server cannot make an increment to the newest backup",
            detail=detail,
            remedy="Take a full backup.",
        )
    obstacle = obstacle_said(detail)
    if obstacle is not None:
        return BasebackupError(
            f"pg_basebackup from {source} found no room for the backup: {obstacle}",
            code="BACKUP_STORAGE",
            detail=detail,
            failure_class=FailureClass.TRANSIENT,
            remedy="Make room: `leitstand backup postgres rotate --dry-run` shows what it would"
            " free. Nothing of this attempt is kept.",
        )
    how = f"signal {-ended.exit_code}" if ended.exit_code < 0 else f"status {ended.exit_code}"
    transient = _TRANSIENT.search(detail) is not None or ended.exit_code < 0
    return BasebackupError(
        f"pg_basebackup from {source} failed ({how})",
        detail=detail or None,
        failure_class=FailureClass.TRANSIENT if transient else FailureClass.PERMANENT,
        remedy="Its last lines say why; nothing of this attempt is kept.",
    )
