"""The restore drill of objects: restore, count, compare with the database, leave nothing behind."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Protocol

from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.stopwatch import Say, Stopwatch
from leitstand.archive.fresh_directory import fresh_directory
from leitstand.archive.hindrance import hindrance_in
from leitstand.archive.objects.listing import whole_snapshots
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.opening import open_repository
from leitstand.archive.objects.restic import Restic
from leitstand.archive.objects.restic_errors import RepositoryAbsentError
from leitstand.archive.objects.snapshot import Snapshot, chosen, snapshots_in
from leitstand.archive.objects.unpacking import Unpacked, unpack
from leitstand.errors import LeitstandError

DETAIL_LIMIT = 2000
SAMPLE = 20
"""Objects that are compared with the database."""


class DrillFailure(LeitstandError):  # noqa: N818 -- a drill's outcome, told in its detail
    """The snapshot came back, but not as it should be."""

    code = "DRILL_CHECK"


@dataclass(frozen=True)
class KnownObject:
    """An object as the application's database knows it; ``sha256`` is in hexadecimal digits.

    A byte of the key that is no text is in it as half a surrogate pair, as in Python's file names.
    """

    storage_key: str
    sha256: str


class SampleSource(Protocol):
    """Where objects to compare come from: any choice of those in ``file_revisions``."""

    async def sample(self, size: int) -> Sequence[KnownObject]:
        """At most ``size`` objects; raises LeitstandError when the database does not answer."""


@dataclass(frozen=True)
class ObjectDrill:
    """What to drill: the newest snapshot unless one is named, below ``scratch``.

    ``timeout`` limits each phase, in seconds; ``samples`` is None where no database is configured.
    Their keys are below the directory ``store``; None: below what the snapshot holds.
    """

    scratch: Path
    timeout: float = 3600.0
    snapshot: str | None = None
    samples: SampleSource | None = None
    store: Path | None = None


async def drill_objects(
    drill: ObjectDrill, archive: ObjectArchive, say: Say = lambda phase: None
) -> Drill:
    """Carry out the drill and report; whatever is wrong with the backup is a failed drill.

    Raises NotFoundError for a snapshot that was named and does not exist, and nothing else but
    interruptions. What was restored is removed in any case.
    """
    course = _Course(Stopwatch(drill.timeout, say), datetime.now(UTC))
    try:
        opened = await open_repository(archive.repository, archive.ledger)
        whole = await whole_snapshots(opened, archive)
        if drill.snapshot is None and not whole:
            return course.report(f"no backup found in {archive.repository.shown}")
        named = await snapshots_in(opened.restic) if drill.snapshot else whole
    except RepositoryAbsentError as error:
        return course.report(f"no backup found: {error.message}")
    except LeitstandError as error:
        return course.report(_sentence(error), hindrance_in(error))
    course.snapshot = chosen(named, drill.snapshot or "newest")
    try:
        await course.run(drill, opened.restic)
    except LeitstandError as error:
        return course.report(_sentence(error), hindrance_in(error))
    except OSError as error:
        return course.report(f"{type(error).__name__}: {error}", hindrance_in(error))
    return course.report(None)


class _Course:
    """One drill as it goes on."""

    def __init__(self, watch: Stopwatch, began: datetime) -> None:
        self.watch = watch
        self.began = began
        self.snapshot: Snapshot | None = None
        self.praise: list[str] = []

    async def run(self, drill: ObjectDrill, restic: Restic) -> None:
        """All phases; raises LeitstandError, OSError."""
        assert self.snapshot is not None  # noqa: S101 - the caller has chosen one
        drill.scratch.mkdir(parents=True, exist_ok=True)
        with fresh_directory(drill.scratch / "objects") as beside:
            room = beside / "tree"
            room.mkdir()
            with self.watch.phase("restore") as limit:
                unpacked = await unpack(restic, self.snapshot, room, timeout=limit)
            if not unpacked.found.files:
                raise DrillFailure("empty after restore: there is no file in the snapshot")
            self.praise.append(f"restored {unpacked.found}")
            if drill.samples is not None:
                with self.watch.phase("compare") as limit:
                    async with asyncio.timeout(limit):
                        await self._compare(unpacked, drill, drill.samples)

    async def _compare(self, unpacked: Unpacked, drill: ObjectDrill, samples: SampleSource) -> None:
        assert self.snapshot is not None  # noqa: S101 - it was unpacked
        content = unpacked.content
        if drill.store is not None:
            place = place_of(drill.store.resolve(), self.snapshot, content)
            if place is None:
                self.praise.append(f"not compared: the snapshot does not hold {drill.store}")
                return
            content = place
        known = await samples.sample(SAMPLE)
        same, wrong = 0, []
        for each in known:
            found = await asyncio.to_thread(_sha256, content, each.storage_key)
            same += found == each.sha256.lower()
            if found is not None and found != each.sha256.lower():
                wrong.append(each.storage_key)
        if wrong:
            raise DrillFailure(f"{len(wrong)} of {len(known)} objects differ: {', '.join(wrong)}")
        if known and not same:
            raise DrillFailure(f"none of {len(known)} objects of the database is in the snapshot")
        self.praise.append(f"{same} of {len(known)} objects of the database are there and the same")

    def report(self, failure: str | None, hindrance: str | None = None) -> Drill:
        """The drill as it is recorded."""
        snapshot = self.snapshot
        age = None if snapshot is None else (self.began - snapshot.taken_at).total_seconds()
        restored = "restore" in self.watch.phases and failure is None
        return Drill(
            timestamp=datetime.now(UTC),
            kind=DrillKind.OBJECTS,
            source="" if snapshot is None else snapshot.id,
            success=failure is None,
            detail=failure or "; ".join(self.praise),
            recovery_time=self.watch.total("restore") if restored else None,
            recovery_point_age=None if age is None else round(age, 3),
            phases=self.watch.phases,
            hindrance=hindrance,
        )


def place_of(store: Path, snapshot: Snapshot, content: Path) -> Path | None:
    """Where the directory ``store`` is in what was restored to ``content``; None if it is not.

    A single source has become ``content``; of several each is there with its whole path.
    """
    for path in map(Path, snapshot.paths):
        if store.is_relative_to(path):
            top = path if len(snapshot.paths) == 1 else path.anchor
            place = content / store.relative_to(top)
            return place if place.is_dir() else None
    return None


def _sha256(content: Path, key: str) -> str | None:
    """The digest of the file of that key; None where there is none, as for one newer than this."""
    relative = PurePosixPath(key)
    path = content / relative
    if relative.is_absolute() or ".." in relative.parts or path.is_symlink():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _sentence(error: LeitstandError) -> str:
    parts = [error.message] if error.detail is None else [error.message, error.detail]
    return ": ".join(parts)[:DETAIL_LIMIT]
