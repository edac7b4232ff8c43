"""The exit codes by which the process that calls Apprise says what came of a message."""

from enum import IntEnum


class AppriseExit(IntEnum):
    """Other codes mean that the program itself failed."""

    DELIVERED = 0
    NOT_DELIVERED = 3
    NOT_UNDERSTOOD = 4
