"""Reads the header ``If-Match``: the version that a change is meant to replace."""

from typing import Annotated

from fastapi import Header

from leitstand.errors import UsageError

IfMatch = Annotated[
    str | None, Header(description="The `ETag` of the version to replace, or its number.")
]


def tag_in(header: str | None) -> str | None:
    """The version's tag without its quotes; None where any version may be replaced."""
    return None if header is None or header.strip() == "*" else header.strip().strip('"')


def version_in(header: str | None) -> int | None:
    """The version's number; raises UsageError where the tag is none."""
    tag = tag_in(header)
    if tag is None:
        return None
    if not (tag.isascii() and tag.isdigit() and len(tag) < 19):
        raise UsageError(f"{tag[:100]!r} is not the number of a version")
    return int(tag)
