"""The strict tar reader: what PostgreSQL writes is read, everything else is refused."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.tar_stream import Entry, EntryKind, TarError, TarReader
from tests.archive.postgres.damage import flip
from tests.archive.postgres.tar_writer import BLOCK, END, Member, header, tar

NAMES = st.binary(min_size=1, max_size=40).filter(
    lambda b: not set(b) & set(b"/\0") and b[:1] > b"."
)
CONTENTS = st.binary(max_size=1500)

ATTACKS = {
    "parent": [Member(b"../evil")],
    "parent inside": [Member(b"base/../../evil")],
    "absolute": [Member(b"/tmp/evil")],
    "dot": [Member(b"base/./evil")],
    "double slash": [Member(b"base//evil")],
    "no name": [Member(b"")],
    "only a slash": [Member(b"/", kind=b"5")],
    "symbolic link": [Member(b"pg_tblspc/1", kind=b"2", link=b"../..")],
    "hard link": [Member(b"evil", kind=b"1", link=b"pg_tblspc/1")],
    "device": [Member(b"evil", kind=b"3")],
    "block device": [Member(b"evil", kind=b"4")],
    "FIFO": [Member(b"evil", kind=b"6")],
    "GNU long name": [Member(b"././@LongLink", b"evil", kind=b"L")],
    "pax record": [Member(b"evil", b"11 path=e\n", kind=b"x")],
    "old regular file": [Member(b"evil", kind=b"\0")],
    "below a link": [Member(b"pg_tblspc/1", kind=b"2", link=b"/tmp"), Member(b"pg_tblspc/1/evil")],
    "file over a directory": [Member(b"a/b/c"), Member(b"a/b")],
    "below a file": [Member(b"a"), Member(b"a/b/c")],
    "twice": [Member(b"a"), Member(b"./a")],
    "directory with content": [Member(b"a", b"evil", kind=b"5")],
}


def read(
    archive: bytes, piece: int = 4096, trailing_zeros: int = 1 << 20
) -> list[tuple[Entry, bytes]]:
    def pieces() -> Iterator[bytes]:
        for at in range(0, len(archive), piece):
            yield archive[at : at + piece]

    reader = TarReader(pieces(), trailing_zeros)
    return [(entry, b"".join(reader.content())) for entry in reader]


@given(st.dictionaries(NAMES, CONTENTS, max_size=6), st.integers(1, 3000))
def test_sound_archives_come_back_in_pieces_of_any_size(
    files: dict[bytes, bytes], piece: int
) -> None:
    archive = tar(Member(name, content) for name, content in files.items())
    assert {entry.name: content for entry, content in read(archive, piece)} == files


def test_kinds_modes_and_spellings() -> None:
    members = [
        Member(b"./pg_wal/", kind=b"5", mode=0o700),
        Member(b"global/1", b"x" * 700, mode=0o640),
    ]
    assert [entry for entry, _ in read(tar(members))] == [
        Entry(b"pg_wal", EntryKind.DIRECTORY, 0, 0o700),
        Entry(b"global/1", EntryKind.FILE, 700, 0o640),
    ]


def test_sizes_beyond_octal() -> None:
    """Eight gigabytes and more are written in base 256; the content is cut off here."""
    member = Member(b"base/1/1", size=1 << 40)
    reader = TarReader(iter([header(member)]))
    assert next(iter(reader)).size == 1 << 40
    with pytest.raises(TarError, match="cut off inside the member base/1/1"):
        list(reader.content())


@pytest.mark.parametrize("members", ATTACKS.values(), ids=ATTACKS.keys())
def test_what_no_backup_holds_is_refused(members: list[Member]) -> None:
    """Case 61, at the level of names and kinds."""
    with pytest.raises(TarError):
        read(tar(members))


@given(st.integers(0, BLOCK - 1), st.integers(1, 255))
def test_a_changed_header_is_refused_or_says_the_same(at: int, mask: int) -> None:
    sound = header(Member(b"base/5/1259", mode=0o600))
    try:
        changed = read(flip(sound, at, mask) + END)
    except TarError:
        return
    assert changed == read(sound + END)


@given(st.integers(0, 4 * BLOCK - 1))
def test_every_cut_is_noticed(keep: int) -> None:
    archive = tar([Member(b"a", b"content")])
    assert len(archive) == 4 * BLOCK
    with pytest.raises(TarError, match="cut off"):
        read(archive[:keep])


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (tar([Member(b"a", b"x")])[:-1] + b"\1", "zeros stands in the middle"),
        (tar([]) + tar([Member(b"b")]), "data follows after the end marker"),
        (tar([]) + bytes(3 * BLOCK), "too many zeros"),
        (tar([Member(b"a", b"x")], b"")[:-1] + b"\1" + END, "padding after a is not zero"),
        (tar([Member(b"a")]) + b"\0", "data follows"),
        (b"no tar at all".ljust(BLOCK, b"!"), "header is damaged"),
    ],
)
def test_the_end_and_the_padding(archive: bytes, problem: str) -> None:
    with pytest.raises(TarError, match=problem):
        read(archive, trailing_zeros=BLOCK)


def test_zeros_that_other_programs_add() -> None:
    """GNU tar fills up to 10 KiB."""
    assert read(tar([]) + bytes(8 * BLOCK)) == []
