"""What else is known of a thing, as pairs of words."""

from collections.abc import Collection, Mapping
from typing import Any

from leitstand.display import in_words


def facts_of(document: Mapping[str, Any], shown: Collection[str]) -> list[tuple[str, str]]:
    """The fields of a document that say something and are not ``shown`` elsewhere."""
    return [
        (name.replace("_", " "), in_words(value))
        for name, value in document.items()
        if name not in shown and value not in (None, "", [], {}, 0, False)
    ]
