"""Writes tar archives header by header for tests, sound ones like PostgreSQL's and hostile ones."""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from isal import igzip

BLOCK = 512
END = bytes(2 * BLOCK)


@dataclass(frozen=True)
class Member:
    """A tar member as it is to be written, true or not."""

    name: bytes
    content: bytes = b""
    kind: bytes = b"0"
    link: bytes = b""
    mode: int = 0o600
    size: int | None = None


def header(member: Member) -> bytes:
    """A ustar header in PostgreSQL's spelling."""
    size = len(member.content) if member.size is None else member.size
    block = bytearray(BLOCK)
    block[0 : len(member.name)] = member.name
    block[100:108] = b"%07o " % member.mode
    block[108:124] = b"0000000 0000000 "
    block[124:136] = b"%011o " % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
    block[136:148] = b"00000000000 "
    block[156:157] = member.kind
    block[157 : 157 + len(member.link)] = member.link
    block[257:265] = b"ustar\x0000"
    return seal(block)


def seal(block: bytearray) -> bytes:
    """The header with its checksum put right."""
    block[148:156] = b" " * 8
    block[148:156] = b"%07o " % sum(block)
    return bytes(block)


def tar(members: Iterable[Member], end: bytes = END) -> bytes:
    """A whole archive."""
    parts = []
    for member in members:
        parts += [header(member), member.content, bytes(-len(member.content) % BLOCK)]
    return b"".join(parts) + end


def write_gz(path: Path, content: bytes) -> None:
    """Write ``content`` compressed, as one gzip member, to a new inode: ``path`` may be a link."""
    path.unlink(missing_ok=True)
    path.write_bytes(igzip.compress(content, 1))


def read_gz(path: Path) -> bytes:
    """The content of all gzip members of ``path``."""
    return gzip.decompress(path.read_bytes())


def boundaries(archive: bytes) -> list[int]:
    """Where the members of a sound archive begin, and where its end marker does."""
    found, at = [], 0
    while archive[at]:
        found.append(at)
        size = int(archive[at + 124 : at + 136].strip(b" \0"), 8)
        at += BLOCK + size + -size % BLOCK
    return [*found, at]
