"""Turns the tables' Unix seconds into times that people and programs read."""

from datetime import UTC, datetime

LATEST = datetime.max.replace(tzinfo=UTC)


def moment_of(seconds: int) -> datetime | None:
    """A column's time in UTC; 0 means "not yet" there. What no calendar reaches is its last day."""
    if seconds == 0:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return LATEST
