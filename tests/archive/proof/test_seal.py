"""A sealed report shows whether it was changed, and by which key it was signed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive import broken_seals, read_sealed, sealed

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text(min_size=10), values, max_size=4)


@given(documents, st.text(st.characters(codec="utf-8"), min_size=1))
def test_what_was_written_and_read_is_intact(document: dict[str, Any], key: str) -> None:
    written = json.dumps(sealed(document, key), indent=2, ensure_ascii=False)
    read = read_sealed(written.encode("utf-8", "surrogatepass"))
    assert broken_seals(read, key) == []
    assert broken_seals(dict(reversed(read.items())), key) == []


@given(documents)
def test_a_change_shows(document: dict[str, Any]) -> None:
    changed = {**sealed(document, "key"), "clean": True}
    assert len(broken_seals(changed, "key")) == 2
    assert len(broken_seals(changed)) == 1


@pytest.mark.parametrize(
    "content",
    [
        b'{"clean": true, "clean": false}',
        b'{"facts": [{"age": 1, "age": 2}]}',
        b'{"age": NaN}',
        b'{"age": 1e999}',
        b"[" * 100_000,
        b"[]",
        b"\xff",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(content: bytes) -> None:
    """Who reads the first of two values would see another report than the one that is sealed."""
    with pytest.raises(ValueError):
        read_sealed(content)


def test_a_seal_that_is_no_text_is_broken() -> None:
    document = read_sealed(b'{"digest": "\\ud800", "signature": "\\ud800"}')
    assert len(broken_seals(document, "key")) == 2


def test_who_has_the_digest_has_not_the_key() -> None:
    assert broken_seals(sealed({"a": 1}, "theirs"), "ours") == ["its signature is not by this key"]
    assert broken_seals(sealed({"a": 1}), "ours") == ["it is not signed"]
    assert len(broken_seals({"a": 1, "digest": None, "signature": 7}, "ours")) == 2
