"""``backup_label`` and ``tablespace_map``, the two files in a base archive that tell of the backup.

Formats: PostgreSQL's build_backup_content() and read_tablespace_map() (xlogbackup.c,
xlogrecovery.c): lines of ``KEY: value``, and lines of ``oid path`` with backslash escapes.
"""

import re
from dataclasses import dataclass

from leitstand.archive.postgres.lsn import parse_lsn
from leitstand.archive.postgres.tar_stream import Entry
from leitstand.errors import LeitstandError

LABEL = b"backup_label"
TABLESPACE_MAP = b"tablespace_map"
_KEPT_LIMIT = 16 << 20

_MAP_LINE = re.compile(rb"([1-9]\d{0,9}) (.+)", re.DOTALL)


class LabelError(LeitstandError):
    """``backup_label`` or ``tablespace_map`` does not say what it must."""

    code = "BACKUP_LABEL"


@dataclass(frozen=True)
class Position:
    """A point in the WAL: a byte position on a timeline."""

    timeline: int
    lsn: int


@dataclass(frozen=True)
class BackupLabel:
    """Where the backup starts and, for an increment, where the one before it started."""

    start: Position
    incremental_from: Position | None


def parse_label(content: bytes) -> BackupLabel:
    """Parse ``backup_label``; raises LabelError."""
    lines = [line.partition(": ") for line in content.decode("utf-8", "replace").splitlines()]
    values = {key: value for key, _, value in lines}
    try:
        start = Position(
            int(values["START TIMELINE"]), parse_lsn(values["START WAL LOCATION"].split(" ")[0])
        )
        if "INCREMENTAL FROM LSN" not in values:
            return BackupLabel(start, None)
        origin = Position(
            int(values["INCREMENTAL FROM TLI"]), parse_lsn(values["INCREMENTAL FROM LSN"])
        )
    except KeyError as error:
        raise LabelError(f"it does not state {error.args[0]}") from error
    except ValueError as error:
        raise LabelError(f"it cannot be read: {error}") from error
    return BackupLabel(start, origin)


def parse_tablespace_map(content: bytes) -> dict[int, bytes]:
    """The directories of the tablespaces by oid, as on the server; raises LabelError."""
    found = {}
    for line in re.findall(rb"((?:\\[\s\S]|[^\\\n\r])+)[\n\r]*", content):
        match = _MAP_LINE.fullmatch(re.sub(rb"\\([\s\S])", rb"\1", line))
        if match is None:
            raise LabelError("it holds a line that names no tablespace")
        found[int(match.group(1))] = match.group(2)
    return found


class SmallFiles:
    """An observer that keeps the content of a few small files of an archive."""

    def __init__(self, *names: bytes) -> None:
        self._names = names
        self._current: bytes | None = None
        self.contents: dict[bytes, bytes] = {}

    def begin(self, entry: Entry) -> None:
        """Start keeping, if it is one of them."""
        wanted = entry.name in self._names and entry.size <= _KEPT_LIMIT
        self._current = entry.name if wanted else None
        if wanted:
            self.contents[entry.name] = b""

    def piece(self, data: bytes) -> None:
        """Keep ``data``, if the current member is wanted."""
        if self._current is not None:
            self.contents[self._current] += data

    def end(self) -> None:
        """Nothing is left to do."""
