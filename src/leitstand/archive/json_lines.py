"""Adds a line of JSON to a file that others append to, too: all of it and durably, or not."""

import errno
import json
import os
from collections.abc import Mapping
from typing import Any


def append_line(descriptor: int, document: Mapping[str, Any]) -> None:
    """Append to what ``descriptor`` is open for (reading, too, with ``O_APPEND``).

    One write, so that lines of two processes do not mix. What a crash or a full disk has cut off
    before it stays a line of its own. Raises OSError when not all of the line could be written.
    """
    line = json.dumps(document).encode() + b"\n"
    data = line if _ends_cleanly(descriptor) else b"\n" + line
    if os.write(descriptor, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


def _ends_cleanly(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
