"""PostgreSQL's log sequence numbers (``16/B374D848``): text to number and back."""

import re

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_lsn(text: str) -> int:
    """The byte position in the WAL that ``text`` names; raises ValueError for anything else."""
    match = _LSN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a log sequence number such as 0/2000028")
    return int(match.group(1), 16) << 32 | int(match.group(2), 16)


def format_lsn(position: int) -> str:
    """``position`` in PostgreSQL's own spelling, such as ``0/2000028``."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
