"""Values of documents as people read them."""

from datetime import UTC, datetime

import pytest

from leitstand.display import in_words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (True, "yes"),
        (0, "0"),
        (datetime(2026, 12, 2, 7, 5, 36, 393015, tzinfo=UTC), "2026-12-02 07:05:36 UTC"),
        ({"by": "user", "user": "anna", "event": None}, "by user, user anna"),
        ({"event": None}, "–"),
        (["a", "b"], "a, b"),
        ("text", "text"),
    ],
)
def test_in_words(value: object, words: str) -> None:
    assert in_words(value) == words
