"""What verification found wrong with a backup: where, in which file, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

LISTED = 20
"""How many problems of one sort are listed one by one; the rest is counted in one sentence."""


class FindingKind(StrEnum):
    """What sort of trouble it is, for those who react by program."""

    DAMAGED = "damaged"
    """The bytes are not those that were backed up."""
    MISSING = "missing"
    """Something that the backup needs does not exist."""
    UNEXPECTED = "unexpected"
    """Something is there that the backup does not account for."""
    UNREADABLE = "unreadable"
    """It could not be read (permission, I/O error), so nothing is proven either way."""
    CHAIN = "chain"
    """The stage does not follow the one before it; a restore across this gap is impossible."""
    UNPROVEN = "unproven"
    """Only a note: this part could not be checked, since no digests were recorded."""


@dataclass(frozen=True)
class Finding:
    """One problem, told in a sentence; ``file`` is empty when it concerns the whole stage."""

    stage: str
    file: str
    problem: str
    kind: FindingKind

    @property
    def sentence(self) -> str:
        """Where and what, for people."""
        where = " ".join(filter(None, (self.stage, self.file)))
        return f"{where}: {self.problem}" if where else self.problem

    def as_dict(self) -> dict[str, str]:
        """The finding's JSON shape; names that are not UTF-8 appear with backslash escapes."""
        return {
            "stage": self.stage,
            "file": self.file,
            "problem": self.problem,
            "kind": self.kind.value,
        }


class Findings:
    """Collects the findings of one stage, and bounds how many of one sort and file are kept."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._found: dict[Finding, None] = {}
        self._counts: dict[tuple[str, FindingKind], int] = {}

    def add(self, file: str, problem: str, kind: FindingKind = FindingKind.DAMAGED) -> None:
        """Note ``problem``; the same one twice is kept once."""
        finding = Finding(self._stage, file, problem, kind)
        if finding in self._found:
            return
        count = self._counts.get((file, kind), 0)
        self._counts[file, kind] = count + 1
        if count < LISTED:
            self._found[finding] = None

    def __iter__(self) -> Iterator[Finding]:
        yield from self._found
        for (file, kind), count in self._counts.items():
            if count > LISTED:
                yield Finding(self._stage, file, f"and {count - LISTED} more of this kind", kind)


def shown(name: bytes) -> str:
    """A file name for people and JSON: bytes that are not UTF-8 become backslash escapes."""
    return name.decode("utf-8", "backslashreplace")
