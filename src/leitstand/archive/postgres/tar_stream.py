"""Strict, streaming tar reading: every header, padding and end marker must be as PostgreSQL writes.

PostgreSQL writes plain ustar (src/port/tar.c): regular files and directories; names of at most 99
bytes without the prefix field, numbers in octal or, for large files, in base 256. It writes neither
pax records nor GNU long names (it refuses to back such files up) nor, in this format, links: its
tablespaces stand in ``tablespace_map``. Anything else is damage or an attack, and is rejected, not
interpreted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from leitstand.archive.postgres.finding import shown
from leitstand.archive.postgres.stream_damage import StreamDamagedError

BLOCK = 512
TRAILING_ZEROS = 1 << 20
"""Bytes of zeros that may follow the end marker; GNU tar fills up to 10 KiB."""

_ZERO_BLOCK = bytes(BLOCK)


class TarError(StreamDamagedError):
    """The tar layer of an archive is damaged, or holds what no backup holds."""

    code = "TAR_DAMAGED"


class EntryKind(Enum):
    """The kinds of members that a backup may have; the values are the tar type flags."""

    FILE = b"0"
    DIRECTORY = b"5"


_FORBIDDEN_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
}


@dataclass(frozen=True)
class Entry:
    """One member: a relative path without ``.`` and ``..``, as bytes; sizes in bytes."""

    name: bytes
    kind: EntryKind
    size: int
    mode: int

    @property
    def padding(self) -> int:
        """The zero bytes between the content and the next header."""
        return -self.size % BLOCK


class TarReader:
    """Iterates over the members of one archive, each once, in the order of the archive.

    After each member ``content`` must be read to its end before the next is asked for. Iteration
    ends only after the end marker and everything behind it was read and found right.
    """

    def __init__(self, source: Iterator[bytes], trailing_zeros: int = TRAILING_ZEROS) -> None:
        self._source = source
        self._trailing_zeros = trailing_zeros
        self._chunk = b""
        self._at = 0
        self._kinds: dict[bytes, EntryKind] = {}
        self._folders: set[bytes] = set()
        self._entry: Entry | None = None

    def __iter__(self) -> Iterator[Entry]:
        while (header := self._block()) != _ZERO_BLOCK:
            self._entry = parse_header(header)
            self._place(self._entry)
            yield self._entry
        self._check_end()

    def content(self) -> Iterator[bytes]:
        """The current member's content in pieces of any size; none for directories."""
        entry = self._entry
        if entry is None:
            raise TarError("there is no member to read")
        left = entry.size
        while left:
            piece = self._piece(left)
            if not piece:
                raise TarError(f"it is cut off inside the member {shown(entry.name)}")
            left -= len(piece)
            yield piece
        self._check_padding(entry)

    def _place(self, entry: Entry) -> None:
        """Refuse a second member of the same name, and members below a file."""
        if entry.name in self._kinds:
            raise TarError(f"the member {shown(entry.name)} occurs twice")
        self._kinds[entry.name] = entry.kind
        for folder in _folders_of(entry.name):
            if folder in self._folders:
                break
            if self._kinds.get(folder) is EntryKind.FILE:
                raise TarError(f"the member {shown(entry.name)} lies below a file")
            self._folders.add(folder)
        if entry.kind is EntryKind.FILE and entry.name in self._folders:
            raise TarError(
                f"the member {shown(entry.name)} should be a directory, others lie in it"
            )

    def _block(self) -> bytes:
        block = self._exactly(BLOCK)
        if len(block) < BLOCK:
            what = "inside a header" if block else "at the end of a member"
            raise TarError(f"it is cut off {what}: the end marker is missing")
        return block

    def _check_padding(self, entry: Entry) -> None:
        padding = self._exactly(entry.padding)
        if len(padding) < entry.padding:
            raise TarError(f"it is cut off after the content of {shown(entry.name)}")
        if padding.count(0) != len(padding):
            raise TarError(f"the padding after {shown(entry.name)} is not zero")

    def _check_end(self) -> None:
        if self._block() != _ZERO_BLOCK:
            raise TarError("a block of zeros stands in the middle, where a member should begin")
        total = 0
        while piece := self._exactly(BLOCK):
            total += BLOCK
            if piece != _ZERO_BLOCK:
                raise TarError("data follows after the end marker, two blocks of zeros")
            if total > self._trailing_zeros:
                raise TarError("too many zeros follow the end marker")

    def _exactly(self, count: int) -> bytes:
        """The next ``count`` bytes; fewer only at the end of the stream."""
        data = self._piece(count)
        while len(data) < count and (more := self._piece(count - len(data))):
            data += more
        return data

    def _piece(self, most: int) -> bytes:
        """Between one and ``most`` bytes, as they come; empty at the end of the stream."""
        while self._at == len(self._chunk):
            chunk = next(self._source, None)
            if chunk is None:
                return b""
            self._chunk, self._at = chunk, 0
        start = self._at
        self._at = min(len(self._chunk), start + most)
        return self._chunk[start : self._at]  # the whole chunk is not copied


def parse_header(block: bytes) -> Entry:
    """The member that a 512-byte header announces; raises TarError for what no backup holds."""
    if _checksum(block) != _number(block[148:156], "checksum"):
        raise TarError("a member's header is damaged: its checksum does not match")
    if block[257:263] != b"ustar\0":
        raise TarError("a member's header is not in the ustar format")
    raw = _text(block[:100])
    kind = _kind(block[156:157], raw)
    size = _number(block[124:136], "size")
    if size and kind is not EntryKind.FILE:
        raise TarError(f"the member {shown(raw)} has content and is no regular file")
    if block[345:500].count(0) != 155:
        raise TarError(f"the member {shown(raw)} has a name prefix, which PostgreSQL never writes")
    mode = _number(block[100:108], "mode") & 0o7777
    return Entry(clean_name(raw), kind, size, mode)


def clean_name(raw: bytes) -> bytes:
    """``raw`` as a plain relative path; raises TarError for a name that could lead elsewhere.

    PostgreSQL writes two directories as ``./pg_wal/...``, and all directories with a slash behind.
    """
    name = raw.removeprefix(b"./").removesuffix(b"/")
    if not name:
        raise TarError("a member has no name")
    if any(part in (b"", b".", b"..") for part in name.split(b"/")):
        raise TarError(f"the member name {shown(raw)} leads out of the archive")
    return name


def _folders_of(name: bytes) -> Iterator[bytes]:
    """All directories above ``name``, the nearest first."""
    while name := name.rpartition(b"/")[0]:
        yield name


def _kind(flag: bytes, raw: bytes) -> EntryKind:
    try:
        return EntryKind(flag)
    except ValueError:
        what = _FORBIDDEN_KINDS.get(flag, f"of the type {shown(flag)!r}")
        raise TarError(f"the member {shown(raw)} is {what}, which no backup holds") from None


def _text(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _checksum(block: bytes) -> int:
    return sum(block) - sum(block[148:156]) + 8 * 0x20


def _number(field: bytes, what: str) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise TarError(f"a member's header is damaged: its {what} is no number")
    return int(digits, 8)
