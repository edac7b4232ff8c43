"""Strict gzip reading: every member's CRC and length right, and nothing after the last one.

pg_basebackup writes base and tablespace archives as one member, but ``pg_wal.tar.gz`` as many: its
WAL writer (walmethods.c) ends one after each header, each content and the end marker, and leaves an
empty one before each header. Format: RFC 1952. Of the optional header fields only the original file
name is accepted, which the ``gzip`` program writes; PostgreSQL writes none.
"""

from collections.abc import Iterable, Iterator
from typing import cast

from isal import isal_zlib

from leitstand.archive.postgres.stream_damage import StreamDamagedError

PIECE = 1 << 18
"""Most bytes that are unpacked at once, so a bomb costs no more memory than ordinary data; larger
pieces are not faster (measured)."""

_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub declares an instance
_FEED = 1 << 16
_HEADER_SIZE = 10
_TRAILER_SIZE = 8
_NAME_FLAG = 8
_NAME_LIMIT = 4096


class GzipError(StreamDamagedError):
    """The gzip layer of an archive is damaged."""

    code = "GZIP_DAMAGED"


def inflate(source: Iterable[bytes], limit: int, *, members: bool = False) -> Iterator[bytes]:
    """The unpacked content of the gzip stream in ``source``, in pieces of at most PIECE bytes.

    Content is handed out before its CRC is known: only who has read to the end may trust it. With
    ``members`` the stream may have several members, of which the last is not empty. Raises
    GzipError where the stream is damaged, continues after its end, or holds more than ``limit``
    bytes.
    """
    feed = _Feed(source)
    left = limit
    more = True
    while more:
        start = left
        for piece in _inflate_member(feed):
            left -= len(piece)
            if left < 0:
                raise GzipError(f"it unpacks to more than the {limit} bytes that can be expected")
            yield piece
        more = _another_member(feed, allowed=members)
    if members and start == left:
        raise GzipError("it holds an empty gzip member")


class _Feed:
    """The compressed bytes, with what was taken too far put back."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self._source = iter(source)
        self._chunk = b""
        self._at = 0
        self.position = 0

    def some(self, most: int = _FEED) -> bytes:
        """Between one and ``most`` bytes; empty at the end."""
        while self._at == len(self._chunk):
            chunk = next(self._source, None)
            if chunk is None:
                return b""
            self._chunk, self._at = chunk, 0
        data = self._chunk[self._at : self._at + most]
        self._at += len(data)
        self.position += len(data)
        return data

    def put_back(self, data: bytes) -> None:
        """``data`` are the last bytes that were taken."""
        self.position -= len(data)
        if len(data) <= self._at:
            self._at -= len(data)
        else:
            self._chunk, self._at = data + self._chunk[self._at :], 0

    def exactly(self, count: int, where: str) -> bytes:
        """``count`` bytes; GzipError names ``where`` the stream ended otherwise."""
        data = b""
        while len(data) < count:
            more = self.some(count - len(data))
            if not more:
                raise GzipError(f"it ends inside {where}")
            data += more
        return data


def _inflate_member(feed: _Feed) -> Iterator[bytes]:
    _skip_header(feed)
    crc = total = 0
    for piece in _inflate_body(feed):
        total += len(piece)
        crc = isal_zlib.crc32(piece, crc)
        yield piece
    _check_trailer(feed, crc, total)


def _skip_header(feed: _Feed) -> None:
    first = feed.some()
    if not first:
        raise GzipError("it is empty")
    feed.put_back(first)
    header = feed.exactly(_HEADER_SIZE, "the gzip header")
    if header[:3] != b"\x1f\x8b\x08":
        raise GzipError("it does not begin with a gzip header")
    flags = header[3]
    if flags & ~_NAME_FLAG:
        raise GzipError(f"its gzip header has the flags {flags:#04x}, which no backup has")
    if flags & _NAME_FLAG:
        _skip_name(feed)


def _skip_name(feed: _Feed) -> None:
    for _ in range(_NAME_LIMIT):
        if feed.exactly(1, "the file name of the gzip header") == b"\0":
            return
    raise GzipError("the file name in its gzip header does not end")


def _inflate_body(feed: _Feed) -> Iterator[bytes]:
    inflator = isal_zlib.decompressobj(-isal_zlib.MAX_WBITS)
    data = feed.some()
    while not inflator.eof:
        try:
            piece: bytes = inflator.decompress(data, PIECE)
        except _INFLATE_ERROR as error:
            place = f"before byte {feed.position}"
            raise GzipError(f"its compressed data is damaged {place} ({error})") from error
        if piece:
            yield piece
        data = inflator.unconsumed_tail
        if not data and len(piece) < PIECE and not inflator.eof:
            data = feed.some()
            if not data:
                raise GzipError("it is cut off: it ends inside the compressed data")
    feed.put_back(inflator.unused_data)


def _check_trailer(feed: _Feed, crc: int, total: int) -> None:
    trailer = feed.exactly(_TRAILER_SIZE, "the gzip trailer, its last 8 bytes: it is cut off")
    if int.from_bytes(trailer[:4], "little") != crc:
        raise GzipError("the CRC in its gzip trailer does not match the content")
    if int.from_bytes(trailer[4:], "little") != total & 0xFFFFFFFF:
        raise GzipError("the length in its gzip trailer does not match the content")


def _another_member(feed: _Feed, *, allowed: bool) -> bool:
    after = feed.some(2)
    if not after:
        return False
    if after != b"\x1f\x8b"[: len(after)]:
        raise GzipError("bytes follow after the end of the gzip stream")
    if not allowed:
        raise GzipError("a second gzip member follows the first one")
    feed.put_back(after)
    return True
