"""Output in bounded size: what is kept, what is marked, what PostgreSQL can store."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.execution.output import BoundedCapture, LineSplitter, LogLimits, storable

chunks = st.lists(st.binary(max_size=40), max_size=20)
SMALL = LogLimits(line=40, lines=5, size=200, tail=30, tail_lines=3)


def split(*pieces: bytes, limits: LogLimits | None = None) -> list[str]:
    lines: list[str] = []
    splitter = LineSplitter(lines.append, limits)
    for piece in pieces:
        splitter.feed(piece)
    splitter.finish()
    return lines


@given(chunks)
def test_head_and_tail_are_those_of_the_whole(pieces: list[bytes]) -> None:
    """jobs case 68: whatever the pieces, the ends and the size are exact."""
    capture = BoundedCapture(head=50, tail=30)
    for piece in pieces:
        capture.feed(piece)
    whole, kept = b"".join(pieces), capture.captured()
    assert kept.size == len(whole)
    assert kept.head == whole[:50]
    assert kept.tail == whole[50:][-30:]
    assert kept.left_out == max(0, len(whole) - 80)


@given(st.binary(max_size=300))
def test_any_bytes_become_storable_text(data: bytes) -> None:
    """jobs case 68: binary bytes; PostgreSQL refuses NUL and lone surrogates."""
    capture = BoundedCapture(head=50, tail=30)
    capture.feed(data)
    for text in (storable(data), capture.captured().text(), capture.captured().last_line()):
        assert "\0" not in text
        text.encode("utf-8")


def test_marker_names_the_true_size() -> None:
    capture = BoundedCapture(head=3, tail=3)
    capture.feed(b"abcdefghij")
    assert capture.captured().text() == "abc\n[… 4 of 10 bytes left out …]\nhij"


def test_a_character_divided_by_a_cut_is_left_out_whole() -> None:
    capture = BoundedCapture(head=4, tail=4)
    capture.feed("aäööxöö".encode())
    assert capture.captured().text(" ") == "aä [… 4 of 12 bytes left out …] öö"
    capture.feed("€".encode())
    assert capture.captured().text(" ").endswith(" €")


@pytest.mark.parametrize(
    ("data", "last"),
    [
        (b"", ""),
        (b"\n\n", ""),
        (b"a\nb\n\n", "b"),
        (b"a\r\nlast\r\n", "last"),
        (b"x" * 900, "x" * 500),
    ],
)
def test_last_line(data: bytes, last: str) -> None:
    capture = BoundedCapture()
    capture.feed(data)
    assert capture.captured().last_line() == last


@given(chunks)
def test_lines_do_not_depend_on_the_pieces(pieces: list[bytes]) -> None:
    assert split(*pieces) == split(b"".join(pieces))
    assert split(*pieces, limits=SMALL) == split(b"".join(pieces), limits=SMALL)


@given(st.lists(st.text("ab \t\x0b\x85ä€😀\u2028", max_size=20)))
def test_lines_come_as_they_are(lines: list[str]) -> None:
    assert split("".join(f"{line}\n" for line in lines).encode()) == lines


def test_lines_come_before_the_end_and_the_unfinished_one_at_it() -> None:
    lines: list[str] = []
    splitter = LineSplitter(lines.append)
    splitter.feed(b"one\r\ntwo\nthr")
    assert lines == ["one", "two"]
    splitter.feed(b"ee")
    splitter.finish()
    assert lines == ["one", "two", "three"]


def test_full_log_says_so_once_and_ends_with_the_last_lines() -> None:
    """jobs case 68: stored <= limit, head and tail kept, one marker with the size in each place."""
    lines = split(*(b"%d\n" % n for n in range(10_000)), limits=SMALL)
    assert lines[:5] == ["0", "1", "2", "3", "4"]
    assert lines[5].startswith("[… the log is full")
    assert lines[6] == "[… 48865 bytes left out …]"
    assert lines[7:] == ["9997", "9998", "9999"]


@given(st.lists(st.binary(max_size=60), max_size=60))
def test_log_is_bounded_whatever_comes(pieces: list[bytes]) -> None:
    lines = split(*pieces, limits=SMALL)
    assert len(lines) <= SMALL.lines + 2 + SMALL.tail_lines + 1


def test_overlong_line_keeps_both_ends() -> None:
    line = split(b"a" * 100 + b"z" * 100 + b"\nnext", limits=SMALL)
    assert line == ["a" * 20 + " [… 160 of 200 bytes left out …] " + "z" * 20, "next"]


def test_lines_that_are_no_log_lines_do_not_count() -> None:
    seen: list[str] = []

    def emit(line: str) -> bool:
        seen.append(line)
        return line.startswith("::")

    splitter = LineSplitter(emit, SMALL)
    splitter.feed(b"::progress\n" * 100 + b"end\n")
    assert seen == ["::progress"] * 100 + ["end"]


@pytest.mark.parametrize("chunk", [b"x" * 2**20, b"line\n" * 200_000], ids=["endless", "many"])
def test_memory_is_flat(chunk: bytes) -> None:
    """jobs case 68: 200 MB without a newline, 200 MB of short lines."""
    capture, splitter = BoundedCapture(), LineSplitter(lambda line: None)
    tracemalloc.start()
    try:
        for _ in range(200):
            capture.feed(chunk)
            splitter.feed(chunk)
        splitter.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert capture.captured().size == 200 * len(chunk)
    assert peak < 2 * 2**20
