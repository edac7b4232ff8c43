"""How a command ended, as the number that scripts see."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    FAILURE = 1
    """Something failed, or a check found something."""
    USAGE = 2
    PARTIAL = 3
    """Some of it was done; the output says what was not."""
    UNWRITTEN = 4
    """All of it was done, but the result could not be written to standard output."""
    INTERRUPTED = 130

    @property
    def in_words(self) -> str:
        """The code as people read it: ``done``, ``failure`` and so on."""
        return self.name.lower()
