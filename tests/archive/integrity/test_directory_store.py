"""The directory as an object store: its order, strange names, what cannot be read."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.integrity.directory_listing import DirectoryListing
from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.sorted_names import sorted_batches
from leitstand.archive.integrity.store import (
    ObjectMissingError,
    ObjectUnreadableError,
)
from leitstand.archive.integrity.tree_hashing import PIECE
from tests.archive.integrity.unprivileged import unprivileged

STRANGE = [
    b"a.b",
    b"a/x",
    b"a-b/y",
    b"a0",
    b"a/.hidden/z",
    b"A.bin",
    b"a.bin",
    b"\xff\xfe",
    b"new\nline",
    b"x" * 255,
    "ü".encode(),
    "u\u0308".encode(),
    b"back\\slash",
    b" ",
]


def fill(root: Path, keys: list[bytes]) -> None:
    for key in keys:
        path = os.path.join(os.fsencode(root), key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(key)


def walked(root: Path) -> list[bytes]:
    return [key for page in DirectoryListing(os.fsencode(root)).walk() for key in page]


def test_the_walk_is_in_byte_order_of_the_whole_key(tmp_path: Path) -> None:
    """Case 67: names that are no text, with a newline, of 255 bytes."""
    fill(tmp_path, STRANGE)
    (tmp_path / "empty").mkdir()
    assert walked(tmp_path) == sorted(STRANGE)


def test_the_order_holds_for_any_tree(tmp_path: Path) -> None:
    chance = random.Random(7)
    names = ["a", "b", "a.", "a-", "a0", "-", "~", "ab"]
    keys: set[bytes] = set()
    for _ in range(400):
        path = "/".join(chance.choices(names, k=chance.randint(1, 4)))
        taken = {os.path.dirname(key) for key in keys} | keys
        parents = {path[:i].encode() for i, letter in enumerate(path) if letter == "/"}
        is_directory = any(key.startswith(path.encode() + b"/") for key in keys)
        if path.encode() not in taken and not parents & keys and not is_directory:
            keys.add(path.encode())
    fill(tmp_path, sorted(keys))
    assert walked(tmp_path) == sorted(keys)


@given(st.sets(st.binary(min_size=1, max_size=4).filter(lambda name: b"\0" not in name)))
def test_names_beyond_memory_are_sorted_in_runs(names: set[bytes]) -> None:
    batches = list(sorted_batches(iter(names), run=7))
    assert [name for batch in batches for name in batch] == sorted(names)


def test_colliding_keys_are_reported(tmp_path: Path) -> None:
    """Case 66: keys that differ only in case or Unicode form are two keys, and said to be near."""
    fill(tmp_path, STRANGE)
    listing = DirectoryListing(os.fsencode(tmp_path))
    assert len([key for page in listing.walk() for key in page]) == len(STRANGE)
    assert listing.notes.collision_count == 2
    assert [b"A.bin", b"a.bin"] in listing.notes.collisions


def test_links_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, [b"here"])
    fill(tmp_path / "outside", [b"secret"])
    (root / "link").symlink_to(tmp_path / "outside" / "secret")
    (root / "tree").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe")
    listing = DirectoryListing(os.fsencode(root))
    assert list(listing.walk()) == [[b"here"]]
    assert sorted(key for key, _ in listing.notes.irregular) == [b"link", b"pipe", b"tree"]
    store = DirectoryStore(root)
    for key in (b"link", b"tree/secret", b"../outside/secret", b"pipe", b"/etc/passwd", b"a\0b"):
        with pytest.raises(ObjectMissingError):
            list(store.read(key))


def test_a_missing_directory_is_an_empty_store_and_a_file_is_none(tmp_path: Path) -> None:
    nowhere = DirectoryListing(os.fsencode(tmp_path / "nowhere"))
    assert (list(nowhere.walk()), nowhere.notes.gaps) == ([], [])
    (tmp_path / "file").touch()
    file = DirectoryListing(os.fsencode(tmp_path / "file"))
    assert list(file.walk()) == []
    assert file.notes.is_unknown(b"any")


def test_an_unreadable_directory_is_a_gap_and_nothing_else(short_dir: Path) -> None:
    """Case 63: as an account that may not read it (root may read everything)."""
    fill(short_dir, [b"a/x", b"b/y", b"b.z", b"c/z"])
    (short_dir / "b").chmod(0)
    listing = DirectoryListing(os.fsencode(short_dir))
    with unprivileged():
        assert list(listing.walk()) == [[b"a/x", b"b.z", b"c/z"]]
    assert [(gap.start, gap.end) for gap in listing.notes.gaps] == [(b"b/", b"b0")]
    assert [listing.notes.is_unknown(key) for key in (b"b", b"b.z", b"b/", b"b/y", b"c")] == [
        *(False, False, True, True, False)
    ]


async def test_looking_and_reading(tmp_path: Path) -> None:
    content = os.urandom(PIECE * 2 + 5)
    fill(tmp_path, [b"a/b"])
    (tmp_path / "a/big").write_bytes(content)
    store = DirectoryStore(tmp_path)
    assert b"".join(bytes(piece) for piece in store.read(b"a/big")) == content
    facts = await store.look([b"a/big", b"a/no", b"no/no", b"a"])
    assert facts[b"a/no"] is facts[b"no/no"] is facts[b"a"] is None
    assert facts[b"a/big"] is not None
    assert facts[b"a/big"].size == len(content)


def test_a_directory_that_was_replaced_is_found_again(tmp_path: Path) -> None:
    fill(tmp_path, [b"a/one", b"new/two"])
    store = DirectoryStore(tmp_path)
    assert [bytes(piece) for piece in store.read(b"a/one")] == [b"a/one"]
    (tmp_path / "a").rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / "a")
    assert [bytes(piece) for piece in store.read(b"a/two")] == [b"new/two"]


def test_what_cannot_be_read_is_told_from_what_is_missing(tmp_path: Path) -> None:
    store = DirectoryStore(Path("/proc/self"))  # its mem cannot be read at 0, whoever asks
    with pytest.raises(ObjectUnreadableError) as caught:
        list(store.read(b"mem"))
    assert not isinstance(caught.value, ObjectMissingError)
