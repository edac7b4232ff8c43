"""The archive's job kinds; each runs in a process of its own, since its work blocks."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.drills.drills_in_turn import as_document, drill_in_turn
from leitstand.archive.drills.newest_drill import drill_database
from leitstand.archive.postgres.backup import BackupResult, take_full, take_incremental
from leitstand.archive.postgres.basebackup import BackupProgress
from leitstand.archive.postgres.directory_ledger import DirectoryLedger
from leitstand.archive.postgres.known_directory import remember_directory, require_known_directory
from leitstand.archive.postgres.rotate import Rotation, rotate
from leitstand.archive.postgres.verify import Verdict, VerifyProgress
from leitstand.archive.settings import ArchiveSettings
from leitstand.archive.verification import NEWEST, verify_chosen
from leitstand.display import counted
from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts, interruptible

OpenSource = Callable[[], AbstractAsyncContextManager[str]]
"""Gives the connection string of the server to back up, for as long as the context lasts."""

OpenDirectories = Callable[[], AbstractAsyncContextManager[DirectoryLedger]]
"""Gives what is known of backup directories."""

OpenLedger = Callable[[], AbstractAsyncContextManager[DrillLedger]]
"""Gives the history of drills."""

RunObjectDrill = Callable[[str | None, Callable[[str], None]], Awaitable[Drill]]
"""Drills a snapshot of objects (None: the newest), telling each phase."""

REASONS = 10
"""How many reasons of a partial result are kept."""


class BackupDamagedOnDiskError(LeitstandError):
    """Verification found faults in a generation."""

    code = "BACKUP_DAMAGED"


class DrillFailedError(LeitstandError):
    """A restore drill did not bring the database back."""

    code = "DRILL_FAILED"


class BackupParams(Params):
    """Which sort of backup; an increment that cannot be taken becomes a full backup if allowed."""

    mode: Literal["full", "incremental"] = "full"
    full_if_needed: bool = True


class PostgresBackup:
    """Takes a full backup or an increment, verified before it counts."""

    kind: ClassVar[str] = "postgres-backup"
    params: ClassVar[type[Params]] = BackupParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(
        self, archive: ArchiveSettings, open_source: OpenSource, open_directories: OpenDirectories
    ) -> None:
        self._archive = archive
        self._open_source = open_source
        self._open_directories = open_directories

    async def execute(self, params: BackupParams, run: RunFacts, reporter: Reporter) -> Result:
        """Take it; raises what ``require_known``, ``take_full`` and ``take_incremental`` raise."""
        directory = self._archive.directory
        async with self._open_directories() as ledger:
            await require_known_directory(ledger, directory)
        async with self._open_source() as conninfo:
            taken = self._take(params, conninfo, reporter)
        async with self._open_directories() as ledger:
            await remember_directory(ledger, directory, taken.generation)
        reporter.log(_sentence(taken))
        return Result(
            bytes_processed=taken.bytes,
            bytes_written=taken.bytes,
            objects_processed=1,
            result=taken.as_dict(),
        )

    def _take(self, params: BackupParams, conninfo: str, reporter: Reporter) -> BackupResult:
        repository = self._archive.repository(conninfo)

        def report(progress: BackupProgress) -> None:
            reporter.progress(progress.percent, progress.phase)

        with interruptible():
            if params.mode == "full":
                return take_full(repository, report)
            return take_incremental(repository, report, full_if_needed=params.full_if_needed)


class VerifyParams(Params):
    """``newest``, ``all``, or the id of a generation."""

    generation: str = NEWEST


class PostgresVerify:
    """Reads every byte of generations and checks the chain of each."""

    kind: ClassVar[str] = "postgres-verify"
    params: ClassVar[type[Params]] = VerifyParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, archive: ArchiveSettings) -> None:
        self._archive = archive

    async def execute(self, params: VerifyParams, run: RunFacts, reporter: Reporter) -> Result:
        """Verify; raises BackupDamagedOnDiskError that names the first faults."""

        def report(progress: VerifyProgress) -> None:
            percent = 100 * progress.bytes_read / max(1, progress.bytes_total)
            reporter.progress(percent, f"{progress.stage} {progress.file}")

        with interruptible():
            verdicts = verify_chosen(self._archive, params.generation, report)
        for verdict in verdicts:
            reporter.log(f"{verdict.generation}: {'sound' if verdict.ok else 'DAMAGED'}")
            for note in verdict.notes:
                reporter.log(f"{verdict.generation}: {note.sentence}")
        require_sound(verdicts)
        return Result(
            bytes_processed=sum(verdict.bytes_read for verdict in verdicts),
            objects_processed=sum(len(verdict.stages) for verdict in verdicts),
            result={"generations": [verdict.generation for verdict in verdicts]},
        )


class RotateParams(Params):
    """How many generations to keep (None: as configured); ``dry_run`` removes nothing."""

    keep: int | None = None
    dry_run: bool = False


class PostgresRotate:
    """Removes the generations that retention gives up."""

    kind: ClassVar[str] = "postgres-rotate"
    params: ClassVar[type[Params]] = RotateParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, archive: ArchiveSettings) -> None:
        self._archive = archive

    async def execute(self, params: RotateParams, run: RunFacts, reporter: Reporter) -> Result:
        """Rotate; what cannot be deleted makes a partial failure."""
        policy = self._archive.policy_keeping(params.keep)
        with interruptible():
            done = rotate(self._archive.directory, policy, dry_run=params.dry_run)
        for decision in done.plan.decisions:
            verb = "keep" if decision.keep else "remove"
            reporter.log(f"{verb} {decision.id}: {'; '.join(decision.reasons)}")
        for name in done.postponed:
            reporter.log(f"{name} is in use; the next rotation removes it")
        return rotation_result(done)


class DrillParams(Params):
    """What to drill: the newest generation, or snapshot of objects, unless one is named.

    Of a generation ``upto`` is ``full`` or an increment's id; ``older`` is how many other backups
    of the database have their turn after the newest. ``with_objects`` restores the newest snapshot
    and the backup before it, and looks for each row's object.
    """

    kind: DrillKind = DrillKind.DATABASE
    generation: str | None = None
    snapshot: str | None = None
    upto: str | None = None
    older: int = Field(default=0, ge=0)
    with_objects: bool = False

    @model_validator(mode="after")
    def _names_its_kind(self) -> Self:
        of_database = self.generation is not None or self.upto is not None or self.older > 0
        of_objects = self.kind is DrillKind.OBJECTS
        if of_database and (of_objects or self.with_objects):
            raise ValueError("'generation', 'upto' and 'older' are for the database alone")
        if self.snapshot is not None and not (of_objects or self.with_objects):
            raise ValueError("a 'snapshot' is for kind 'objects', or with 'with_objects'")
        if of_objects and self.with_objects:
            raise ValueError("'with_objects' is for kind 'database'")
        if self.older and self.generation is not None:
            raise ValueError("with 'older' the newest is drilled; name no 'generation'")
        if self.upto is not None and self.generation is None:
            raise ValueError("'upto' belongs to a 'generation'")
        return self


class RestoreDrill:
    """Restores a backup to an isolated place and asks it for answers."""

    kind: ClassVar[str] = "restore-drill"
    params: ClassVar[type[Params]] = DrillParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(
        self,
        archive: ArchiveSettings,
        open_ledger: OpenLedger,
        objects: RunObjectDrill,
        together: RunObjectDrill,
    ) -> None:
        self._archive = archive
        self._open_ledger = open_ledger
        self._objects = objects
        self._together = together

    async def execute(self, params: DrillParams, run: RunFacts, reporter: Reporter) -> Result:
        """Drill and record; raises DrillFailedError with the details of those that failed."""

        def say(phase: str) -> None:
            reporter.progress(message=phase)
            reporter.log(f"phase: {phase}")

        drills = await self._drill(params, say)
        async with self._open_ledger() as ledger:
            for drill in drills:
                await ledger.record(drill)
        require_passed(drills)
        for drill in drills:
            reporter.log(f"{drill.source}: {drill.detail}")
        return Result(objects_processed=len(drills), result=as_document(drills))

    async def _drill(self, params: DrillParams, say: Callable[[str], None]) -> list[Drill]:
        if params.kind is DrillKind.OBJECTS:
            return [await self._objects(params.snapshot, say)]
        with interruptible():
            if params.with_objects:
                return [await self._together(params.snapshot, say)]
            if params.older:
                return drill_in_turn(self._archive, params.older, say)
            return [drill_database(self._archive, params.generation, say, upto=params.upto)]


_REMEDIES = {
    DrillKind.DATABASE: "Take a full backup now, and find out what damaged this one.",
    DrillKind.OBJECTS: "leitstand backup objects check --read-data says what is damaged.",
}


def require_passed(drills: Sequence[Drill]) -> None:
    """Raise DrillFailedError if any failed; it is transient if this machine hindered them all."""
    failed = [drill for drill in drills if not drill.success]
    if not failed:
        return
    names = ", ".join(drill.source or "the newest backup" for drill in failed)
    details = [
        drill.detail if len(drills) == 1 else f"{drill.source}: {drill.detail}" for drill in failed
    ]
    raise DrillFailedError(
        f"the restore drill of {names} failed",
        detail="\n".join(details),
        remedy=failed[0].hindrance or _REMEDIES[failed[0].kind],
        failure_class=FailureClass.TRANSIENT if all(d.hindrance for d in failed) else None,
    )


def require_sound(verdicts: list[Verdict]) -> None:
    """Raise BackupDamagedOnDiskError if any generation has findings."""
    damaged = [verdict for verdict in verdicts if not verdict.ok]
    if not damaged:
        return
    lines = [
        f"{verdict.generation} {found.stage} {found.file}: {found.problem}"
        for verdict in damaged
        for found in verdict.findings[:REASONS]
    ]
    raise BackupDamagedOnDiskError(
        f"{len(damaged)} of {counted(len(verdicts), 'generation')} damaged: "
        + ", ".join(verdict.generation for verdict in damaged),
        detail="\n".join(lines),
        remedy="Take a full backup now, and find out what damaged these.",
    )


def rotation_result(done: Rotation) -> Result:
    """A rotation as a run's result: what could not be deleted counts as skipped."""
    reasons = tuple(f"{failure.generation}: {failure.problem}" for failure in done.failures)
    return Result(
        objects_processed=len(done.removed),
        objects_skipped=len(done.failures),
        skip_reasons=reasons[:REASONS],
        bytes_processed=done.freed,
        result=done.as_dict(),
    )


def _sentence(taken: BackupResult) -> str:
    text = f"{taken.kind.value} backup {taken.generation}/{taken.id}, {taken.bytes} bytes, verified"
    return text if taken.full_reason is None else f"{text}; a full one, since {taken.full_reason}"
