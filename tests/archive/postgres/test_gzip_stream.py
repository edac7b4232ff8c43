"""The strict gzip reader: one flipped bit, one byte too few or too many is never overlooked."""

import gzip
import io
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.gzip_stream import PIECE, GzipError, inflate
from tests.archive.postgres.damage import flip

CONTENT = b"".join(b"row %d of a small table\n" % n for n in range(40))
PACKED = gzip.compress(CONTENT, 6, mtime=0)
EMPTY = gzip.compress(b"", mtime=0)


def unpack(packed: bytes, piece: int = 7, limit: int = 1 << 20, *, members: bool = False) -> bytes:
    chunks = (packed[at : at + piece] for at in range(0, len(packed), piece))
    return b"".join(inflate(chunks, limit, members=members))


@given(st.binary(max_size=5000), st.integers(0, 9), st.integers(1, 6000))
def test_what_was_packed_comes_back(content: bytes, level: int, piece: int) -> None:
    assert unpack(gzip.compress(content, level), piece) == content


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=5), st.integers(1, 90))
def test_members_where_they_are_allowed(contents: list[bytes], piece: int) -> None:
    packed = b"".join(EMPTY + gzip.compress(content) for content in contents)
    assert unpack(packed, piece, members=True) == b"".join(contents)
    with pytest.raises(GzipError, match="second gzip member"):
        unpack(packed, piece)


def test_every_flipped_bit_is_found_or_changes_nothing() -> None:
    """Some header bits (time, system) mean nothing here, and a match may point to another place of
    the same content; SHA-256 digests cover those.
    """
    found = 0
    for at in range(len(PACKED)):
        for bit in range(8):
            try:
                assert unpack(flip(PACKED, at, 1 << bit), piece=64) == CONTENT
            except GzipError:
                found += 1
    assert found > 0.9 * 8 * len(PACKED)


@given(st.integers(0, len(PACKED) - 1), st.integers(1, 300))
def test_every_cut_is_found(keep: int, piece: int) -> None:
    with pytest.raises(GzipError, match=r"it ends inside|it is empty|cut off"):
        unpack(PACKED[:keep], piece)


@given(st.binary(min_size=1, max_size=30), st.booleans(), st.integers(1, 300))
def test_everything_behind_the_end_is_found(tail: bytes, members: bool, piece: int) -> None:
    with pytest.raises(GzipError):
        unpack(PACKED + tail, piece, members=members)


def test_an_empty_member_at_the_end_is_found() -> None:
    """It would otherwise change the file without changing its content."""
    with pytest.raises(GzipError, match="empty gzip member"):
        unpack(PACKED + EMPTY, members=True)


def test_the_name_that_the_gzip_program_writes() -> None:
    buffer = io.BytesIO()
    with gzip.GzipFile("base.tar", "wb", fileobj=buffer) as file:
        file.write(CONTENT)
    assert unpack(buffer.getvalue()) == CONTENT


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        (b"\x1f\x8b\x08\x04" + PACKED[4:], "flags 0x04"),
        (b"PK\3\4" + PACKED[4:], "does not begin with a gzip header"),
        (b"\x1f\x8b\x08\x08" + PACKED[4:10] + b"n" * 5000, "does not end"),
        (b"\x1f\x8b\x08\x08" + PACKED[4:10] + b"name", "ends inside the file name"),
    ],
)
def test_headers_that_no_backup_has(start: bytes, problem: str) -> None:
    with pytest.raises(GzipError, match=problem):
        unpack(start)


def test_a_bomb_is_given_up_at_the_limit() -> None:
    taken = 0

    def watched(packed: bytes) -> Iterable[bytes]:
        nonlocal taken
        for at in range(0, len(packed), 1024):
            taken += 1024
            yield packed[at : at + 1024]

    bomb = gzip.compress(bytes(64 << 20), 1)
    pieces = inflate(watched(bomb), 1 << 20)
    with pytest.raises(GzipError, match="more than the 1048576 bytes"):
        assert max(len(piece) for piece in pieces) <= PIECE
    assert taken < len(bomb) / 8
