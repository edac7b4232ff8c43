"""Labels as people write them: ``NAME=VALUE``, one text for each."""

from collections.abc import Mapping, Sequence

from leitstand.errors import UsageError


def read_labels(given: Sequence[str]) -> dict[str, str]:
    """The labels; raises UsageError for what is no pair."""
    labels = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{text!r} is no label", remedy="Write NAME=VALUE.")
        labels[name] = value
    return labels


def written_labels(labels: Mapping[str, str]) -> str:
    """All of them in one line, by name."""
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
