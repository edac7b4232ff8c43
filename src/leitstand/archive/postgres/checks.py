"""The history of checks of a generation, ``checks.jsonl``: when it verified, when it was drilled.

Lines are only ever added, each in one write. A line that was cut off by a crash is skipped, and the
next one starts on a line of its own.
"""

import errno
import json
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from leitstand.archive.json_lines import append_line
from leitstand.archive.postgres.backup_lock import own_like
from leitstand.archive.postgres.regular_file import (
    ArchiveMissingError,
    ArchiveUnreadableError,
    open_regular,
)

CHECKS = "checks.jsonl"
READ_LIMIT = 16 << 20
"""Bytes that are read, from the end of the file."""

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""No link is followed: it may lead out of the backups."""


class CheckKind(StrEnum):
    """What was done with the generation."""

    VERIFY = "verify"
    DRILL = "drill"


@dataclass(frozen=True)
class Check:
    """One check; ``stages`` are the names that it covered (``full``, ``incremental/<id>``)."""

    timestamp: datetime
    kind: CheckKind
    ok: bool
    stages: tuple[str, ...]
    findings: int = 0
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The line's JSON shape."""
        return {
            "timestamp": self.timestamp.astimezone(UTC).isoformat(timespec="microseconds"),
            "check": self.kind.value,
            "ok": self.ok,
            "stages": list(self.stages),
            "findings": self.findings,
            "detail": self.detail,
        }


def note_check(generation_dir: Path, check: Check) -> None:
    """Add ``check`` to the generation's history, durably; raises OSError."""
    path = generation_dir / CHECKS
    descriptor = os.open(path, _APPEND, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        own_like(path, generation_dir)
        append_line(descriptor, check.as_dict())
    finally:
        os.close(descriptor)


def read_checks(generation_dir: Path) -> tuple[Check, ...]:
    """All checks in their order, none without a history; raises ArchiveUnreadableError."""
    try:
        descriptor = open_regular(generation_dir / CHECKS)
    except ArchiveMissingError:
        return ()
    with os.fdopen(descriptor, "rb") as file:
        try:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - READ_LIMIT))
            lines = file.read(READ_LIMIT).split(b"\n")
        except OSError as error:
            raise ArchiveUnreadableError(f"it cannot be read: {error.strerror}") from error
    return tuple(check for line in lines if (check := _parse(line)) is not None)


def last_passed(checks: Iterable[Check], kind: CheckKind, stages: Sequence[str]) -> datetime | None:
    """When all of ``stages`` last passed a check of ``kind``; None if they never did.

    Several checks together may cover them: each stage counts by its newest check, which must have
    passed, and the oldest of these times is the answer. A drill of an increment restores all stages
    before it, so it lists them.
    """
    newest: dict[str, Check] = {}
    for check in checks:
        if check.kind is kind:
            newest.update(dict.fromkeys(check.stages, check))
    covering = [newest.get(stage) for stage in stages]
    if not covering or any(check is None or not check.ok for check in covering):
        return None
    return min(check.timestamp for check in covering if check is not None)


def drilled_to(checks: Iterable[Check], stage: str) -> tuple[datetime | None, datetime | None]:
    """When a drill last restored to ``stage`` and no further, and when one that did so passed.

    A stage before it that was restored on the way is not proven by itself: what it held may have
    been replaced by what came after.
    """
    drills = [c for c in checks if c.kind is CheckKind.DRILL and c.stages[-1:] == (stage,)]
    tried = [check.timestamp for check in drills]
    passed = [check.timestamp for check in drills if check.ok]
    return max(tried, default=None), max(passed, default=None)


def last_failed(checks: Iterable[Check], stages: Sequence[str]) -> Check | None:
    """The newest verification of each stage, if one of them failed: the generation is broken."""
    newest: dict[str, Check] = {}
    for check in checks:
        if check.kind is CheckKind.VERIFY:
            newest.update(dict.fromkeys(check.stages, check))
    failed = [newest[stage] for stage in stages if stage in newest and not newest[stage].ok]
    return failed[-1] if failed else None


def _parse(line: bytes) -> Check | None:
    try:
        document = json.loads(line)
        timestamp = datetime.fromisoformat(document["timestamp"])
        if timestamp.tzinfo is None:
            return None
        return Check(
            timestamp=timestamp.astimezone(UTC),
            kind=CheckKind(document["check"]),
            ok=document["ok"] is True,
            stages=tuple(str(name) for name in document["stages"]),
            findings=int(document.get("findings", 0)),
            detail=str(document.get("detail", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
