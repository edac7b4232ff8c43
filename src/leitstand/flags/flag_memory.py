"""Keeps the last known flags in a file, for a start at which the database does not answer."""

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import structlog

from leitstand.flags.flag import Flag

log = structlog.get_logger(__name__)


class FlagMemory:
    """The file. That it cannot be read or written costs no more than what it is for."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def keep(self, flags: Iterable[Flag]) -> None:
        """Replace what the file says, in one step; blocks."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".flags-", dir=self._file.parent)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"flags": [flag.as_dict() for flag in flags]}, file)
            os.replace(name, self._file)
        except OSError as error:
            log.warning("flags are not kept for the next start", error=str(error))

    def recall(self) -> Mapping[str, Flag] | None:
        """What was kept, by key; None if there is nothing that can be read. Blocks."""
        try:
            document = json.loads(self._file.read_text(encoding="utf-8"))
            flags = [Flag.from_row(each) for each in document["flags"]]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("the flags that were kept cannot be read", error=str(error))
            return None
        return {flag.key: flag for flag in flags}
