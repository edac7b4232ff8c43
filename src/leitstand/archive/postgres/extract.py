"""Safe extraction of a backup's archives for restores, verified in the same pass.

Only regular files and directories are created, strictly below the target: every step is relative to
an open directory, no link is followed, nothing that exists is overwritten. The links below
``pg_tblspc`` are no part of an archive. To make them, and to give the tree to the server's account,
are the caller's next steps.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from leitstand.archive.hindrance import obstacle_of, unwritable
from leitstand.archive.postgres.finding import shown
from leitstand.archive.postgres.stage import BASE, WAL
from leitstand.archive.postgres.stage_check import StageCheck, StageReport
from leitstand.archive.postgres.tar_stream import Entry, EntryKind
from leitstand.errors import LeitstandError
from leitstand.store.binaries import Binaries

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WAL_DIRECTORY = "pg_wal"


class ExtractError(LeitstandError):
    """What an archive holds cannot be written to the target."""

    code = "EXTRACT"


class Extractor:
    """An observer that writes an archive's members below a directory, which must exist.

    A context manager, since it holds directories open. Modes keep what PostgreSQL allows: owner
    everything (files: read and write), group read and enter, others nothing.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._root = -1
        self._folder = -1
        self._folder_name: bytes | None = None
        self._file = -1
        self._name = b""

    def __enter__(self) -> Self:
        try:
            self._root = os.open(self._target, _DIRECTORY_FLAGS)
        except OSError as error:
            raise ExtractError(f"{self._target} cannot be opened: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._close_file()
        self._close_folder()
        os.close(self._root)

    def begin(self, entry: Entry) -> None:
        """Create the directory, or the file that the following pieces go to."""
        self._name = entry.name
        try:
            self._create(entry)
        except OSError as error:
            raise self._error(error) from error

    def piece(self, data: bytes) -> None:
        """Write on in the current file."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            raise self._error(error) from error

    def end(self) -> None:
        """Close the current file."""
        try:
            self._close_file()
        except OSError as error:
            raise self._error(error) from error

    def _create(self, entry: Entry) -> None:
        parent, _, leaf = entry.name.rpartition(b"/")
        fd = self._enter_folder(parent)
        if entry.kind is EntryKind.DIRECTORY:
            _make_directory(fd, leaf, entry.mode & 0o750 | 0o700)
        else:
            self._file = os.open(leaf, _FILE_FLAGS, 0o600, dir_fd=fd)
            os.fchmod(self._file, entry.mode & 0o640 | 0o600)

    def _enter_folder(self, name: bytes) -> int:
        """An open directory for ``name``, created where the archive brought no member for it."""
        if name == self._folder_name:
            return self._folder
        self._close_folder()
        self._folder = os.dup(self._root)
        for part in name.split(b"/") if name else ():
            _make_directory(self._folder, part, None)
            inner = os.open(part, _DIRECTORY_FLAGS, dir_fd=self._folder)
            os.close(self._folder)
            self._folder = inner
        self._folder_name = name
        return self._folder

    def _close_file(self) -> None:
        fd, self._file = self._file, -1
        if fd >= 0:
            os.close(fd)

    def _close_folder(self) -> None:
        fd, self._folder, self._folder_name = self._folder, -1, None
        if fd >= 0:
            os.close(fd)

    def _error(self, error: OSError) -> LeitstandError:
        """A name that is taken may be the archive's fault, a full disk is not."""
        obstacle = obstacle_of(error)
        if obstacle is not None:
            return unwritable(self._target, obstacle, f"while {shown(self._name)} was written")
        return ExtractError(
            f"{shown(self._name)} cannot be written below {self._target}: {error.strerror}",
            remedy="Look for room, permissions, and that nothing else writes to this directory.",
        )


@dataclass(frozen=True)
class Targets:
    """Where a stage goes: ``base`` and one directory per tablespace's oid; all of them exist.

    With ``with_wal`` the WAL goes to ``base/pg_wal``, otherwise it is only checked
    (``pg_combinebackup`` takes the last stage's alone).
    """

    base: Path
    tablespaces: Mapping[int, Path]
    with_wal: bool


def extract_verified(
    stage: Path,
    targets: Targets,
    binaries: Binaries,
    report: Callable[[str, int], None] | None = None,
    scratch: Path | None = None,
) -> StageReport:
    """Extract the stage in a directory and verify it as ``verify_stage`` does, in the same pass.

    WAL that does not go anywhere is compared with the SHA-256 that was recorded when it verified,
    where there is one, and not unpacked: nothing is made from it.

    ``report`` is told the file and each number of compressed bytes read, in the reading thread;
    what it raises ends the extraction. Findings do not end it: the result must not be used unless
    the report is ``ok``. Raises UnwritableError where there is no room, ExtractError when something
    cannot be written otherwise (what exists is never overwritten) or a tablespace has no directory
    in ``targets``; what was written stays then.
    """
    with _Writers(targets) as writers:
        return StageCheck(stage, binaries, report or _ignore_file, writers, scratch).run()


class _Writers:
    """One extractor per archive, opened when the archive's turn comes."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._stack = ExitStack()
        self.wants_wal = targets.with_wal
        self.wal_directory = targets.base / _WAL_DIRECTORY if targets.with_wal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def observer(self, archive: str) -> Extractor | None:
        """An extractor for ``archive``; ExtractError for a tablespace that has no directory."""
        if archive == BASE:
            return self._stack.enter_context(Extractor(self._targets.base))
        if archive != WAL:
            return self._stack.enter_context(Extractor(self._tablespace(archive)))
        if self.wal_directory is None:
            return None
        try:
            self.wal_directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            problem = f"{self.wal_directory} cannot be made: {error.strerror}"
            raise ExtractError(problem) from error
        return self._stack.enter_context(Extractor(self.wal_directory))

    def _tablespace(self, archive: str) -> Path:
        oid = int(archive.partition(".")[0])
        directory = self._targets.tablespaces.get(oid)
        if directory is None:
            raise ExtractError(
                f"no directory was given for the tablespace {oid}",
                remedy="Name a new, empty directory for it.",
            )
        return directory


def _make_directory(parent: int, name: bytes, mode: int | None) -> None:
    """Create ``name`` unless it exists; opening it later refuses whatever is no directory."""
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass
    fd = os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    try:
        if mode is not None:
            os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _ignore_file(_: str, __: int) -> None:
    """Nobody wants to know."""
