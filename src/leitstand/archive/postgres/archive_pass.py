"""One pass over one archive: every byte is read once, hashed, unpacked and shown to all observers.

The compressed bytes are hashed and unpacked in a thread of their own while the observers compute
checksums or write files, so both cores work.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from leitstand.archive.postgres.gzip_stream import inflate
from leitstand.archive.postgres.read_ahead import ReadAhead
from leitstand.archive.postgres.regular_file import ArchiveUnreadableError, open_regular
from leitstand.archive.postgres.stage import WAL, FileDigest
from leitstand.archive.postgres.stream_damage import StreamDamagedError
from leitstand.archive.postgres.tar_stream import TRAILING_ZEROS, Entry, TarReader

READ_SIZE = 1 << 18


class Observer(Protocol):
    """Sees the members of an archive in their order; may raise to end the pass."""

    def begin(self, entry: Entry) -> None:
        """A member begins."""

    def piece(self, data: bytes) -> None:
        """The next bytes of the current member's content."""

    def end(self) -> None:
        """The current member is complete."""


class BackupFile:
    """A file of a backup, open for reading and hashed on the way; sizes in bytes.

    It is read up to the size it had when it was opened. Never follows a link and never waits on a
    FIFO that somebody put in the archive's place.
    """

    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        self._fd = open_regular(path)
        self._on_bytes = on_bytes
        self._sha256 = hashlib.sha256()
        self.size = os.fstat(self._fd).st_size
        self._position = 0

    def close(self) -> None:
        """Give the file descriptor back."""
        os.close(self._fd)

    def chunks(self) -> Iterator[bytes]:
        """The bytes from where reading stands to the end; raises ArchiveUnreadableError."""
        while self._position < self.size:
            chunk = self._read(min(READ_SIZE, self.size - self._position))
            if not chunk:
                raise ArchiveUnreadableError("it became shorter while it was read")
            self._position += len(chunk)
            self._sha256.update(chunk)
            self._on_bytes(len(chunk))
            yield chunk

    def digest(self) -> FileDigest:
        """Size and SHA-256 of the whole file; reads what has not been read yet."""
        for _ in self.chunks():
            pass
        return FileDigest(self.size, self._sha256.hexdigest())

    def _read(self, count: int) -> bytes:
        try:
            return os.read(self._fd, count)
        except OSError as error:
            raise ArchiveUnreadableError(f"it cannot be read: {error.strerror}") from error


class ArchivePass:
    """One archive on its way through the observers.

    ``damage`` is the first structural fault (reading ends there), None when gzip and tar were right
    to the last byte. ``digest`` is set in both cases: what follows a fault is still hashed.
    """

    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        self._path = path
        self._on_bytes = on_bytes
        self.damage: StreamDamagedError | None = None
        self.digest: FileDigest | None = None

    def run(self, observers: Sequence[Observer], limit: Callable[[int], int]) -> None:
        """Read the archive; ``limit`` gives, for its size, how many bytes it may unpack to.

        Raises ArchiveUnreadableError, and what an observer raises.
        """
        with closing(BackupFile(self._path, self._on_bytes)) as file:
            wal = self._path.name == WAL  # the only archive with several gzip members
            unpacked = inflate(file.chunks(), limit(file.size), members=wal)
            with ReadAhead(unpacked) as pieces:
                try:
                    _show(TarReader(pieces, 0 if wal else TRAILING_ZEROS), observers)
                except StreamDamagedError as damage:
                    self.damage = damage
            self.digest = file.digest()


def _show(tar: TarReader, observers: Sequence[Observer]) -> None:
    for entry in tar:
        for observer in observers:
            observer.begin(entry)
        for data in tar.content():
            for observer in observers:
                observer.piece(data)
        for observer in observers:
            observer.end()
