"""Turns a chain of backups into a data directory that PostgreSQL can start from.

Every input is verified in the same pass in which it is unpacked, since ``pg_combinebackup`` would
launder damage: it computes the new manifest from whatever bytes it finds. Tablespaces go to new
directories, in the inputs and in the result, and ``tablespace_map`` is rewritten: with the original
one, PostgreSQL would open the original's tablespaces on the same machine.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from leitstand.archive.hindrance import obstacle_said, unwritable
from leitstand.archive.postgres.chain import StageFacts, check_chain
from leitstand.archive.postgres.durable import sync_tree
from leitstand.archive.postgres.extract import Targets
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.label import TABLESPACE_MAP
from leitstand.archive.postgres.layout import stages_of
from leitstand.archive.postgres.program import Ended, run_program
from leitstand.archive.postgres.stage import (
    FULL_DIR,
    INCREMENTAL_DIR,
    MANIFEST,
    SIDECAR,
    StageRecord,
    stage_name,
)
from leitstand.archive.postgres.stage_reading import StageTask, read_stages
from leitstand.errors import LeitstandError, NotFoundError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries

SHOWN = 5
_TABLESPACES = "pg_tblspc"
_LINKS_SINCE = 18


class GenerationDamagedError(LeitstandError):
    """A backup of the chain does not verify, so nothing is made from it."""

    code = "GENERATION_DAMAGED"

    findings: tuple[Finding, ...] = ()


class CombineError(LeitstandError):
    """``pg_combinebackup`` failed."""

    code = "COMBINE_FAILED"


@dataclass(frozen=True)
class MaterialiseProgress:
    """What is being done; bytes are compressed ones, of all stages together."""

    phase: str
    stage: str = ""
    bytes_done: int = 0
    bytes_total: int = 0


Report = Callable[[MaterialiseProgress], None]
"""Called often; whatever it raises ends the work, and what was made is removed."""


@dataclass(frozen=True)
class Materialised:
    """A data directory; ``source`` names generation and stage.

    ``recovery_point`` is when the copy of the last stage ended: what was committed before it began
    is in. ``tablespaces`` are the directories by oid, ``phases`` seconds of ``unpack`` (which
    verifies, too) and ``combine``.
    """

    data: Path
    tablespaces: Mapping[int, Path]
    recovery_point: datetime | None
    source: str
    phases: Mapping[str, float] = field(default_factory=dict)
    config: Path | None = None
    """Where a restore has put the configuration files that were kept, if there were any."""


def materialise(  # noqa: PLR0913 - where from, where to, by what, and how
    generation_dir: Path,
    target: Path,
    binaries: Binaries,
    account: Account,
    tablespace_root: Path,
    *,
    upto: str | None = None,
    tablespace_links: Path | None = None,
    report: Report | None = None,
    durable: bool = False,
) -> Materialised:
    """Make ``target``, a new directory, from the generation up to the stage ``upto``.

    ``upto`` is ``full`` or an increment's id, the newest by default. Tablespaces go to
    ``tablespace_root/<oid>``, made if there are any; links and map point to
    ``tablespace_links/<oid>`` where the caller will move them (there, by default). Everything
    belongs to ``account``, closed to others. With ``durable`` it is synchronised.

    Raises NotFoundError, GenerationDamagedError, CombineError, ExtractError, HindranceError,
    OSError, and what ``report`` raises; ``target`` and ``tablespace_root`` are gone then.
    """
    stages = stages_upto(generation_dir, upto)
    phases: dict[str, float] = {}
    root = tablespace_root.absolute()
    work = _Work(target.absolute(), root, tablespace_links or root, binaries)
    try:
        record = _make(stages, work, phases, report or _ignore)
        for top in (target, *work.homes.values()):
            top.chmod(0o700)
            account.own_tree(top)
        if durable:
            for top in (target, *work.homes.values()):
                sync_tree(top)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(tablespace_root, ignore_errors=True)
        raise
    return Materialised(
        data=target,
        tablespaces=work.homes,
        recovery_point=record.finished_at if record is not None else None,
        source=source_name(generation_dir, stages),
        phases=phases,
    )


def stages_upto(generation_dir: Path, upto: str | None) -> list[Path]:
    """The directories of the stages to restore, the full backup first.

    Raises NotFoundError, and GenerationDamagedError when something else stands in the place of one
    of them: without it, an older state would come back than was asked for.
    """
    there = stages_of(generation_dir)
    paths = {path.name: path for path in there.paths}
    if FULL_DIR not in paths:
        raise NotFoundError(
            f"no backup found: in {generation_dir}, {there.findings[0].problem}",
            remedy="leitstand backup postgres list shows what can be restored.",
        )
    if upto is not None and upto not in paths:
        raise NotFoundError(f"the generation {generation_dir.name} has no increment {upto!r}")
    if upto == FULL_DIR:
        return [paths[FULL_DIR]]
    until = None if upto is None else f"{INCREMENTAL_DIR}/{upto}"
    _require_intact([f for f in there.findings if until is None or f.stage < until])
    return [path for path in there.paths if until is None or stage_name(path) <= until]


def source_name(generation_dir: Path, stages: Sequence[Path]) -> str:
    """How reports call it: the generation, and the increment that it was restored to."""
    last = stages[-1].name
    return generation_dir.name if last == FULL_DIR else f"{generation_dir.name}/{last}"


@dataclass
class _Work:
    """Where everything goes; ``homes`` are the tablespaces' directories, as they are found."""

    target: Path
    tablespace_root: Path
    links: Path
    binaries: Binaries
    homes: dict[int, Path] = field(default_factory=dict)

    def home(self, oid: int) -> Path:
        """A new directory for a tablespace of the result."""
        if oid not in self.homes:
            home = self.tablespace_root / str(oid)
            home.mkdir(mode=0o700, parents=True)
            self.homes[oid] = home
        return self.homes[oid]


@dataclass(frozen=True)
class _Place:
    """Where one input goes: data directory, a maker of tablespaces' directories; WAL, too?"""

    base: Path
    home: Callable[[int], Path]
    with_wal: bool


@dataclass(frozen=True)
class _Unpacked:
    """One input, unpacked: its data directory and its tablespaces' directories by oid."""

    base: Path
    tablespaces: Mapping[int, Path]
    facts: StageFacts


def _make(
    stages: Sequence[Path], work: _Work, phases: dict[str, float], report: Report
) -> StageRecord | None:
    meter = _Meter(report, sum(StageTask(stage).size for stage in stages))
    if len(stages) == 1:
        with _phase(phases, "unpack"):
            work.target.mkdir(mode=0o700)
            place = _Place(work.target, work.home, with_wal=True)
            (unpacked,) = _unpack(stages, [place], work.binaries, meter)
    else:
        with _inputs_directory(work.target) as scratch:
            with _phase(phases, "unpack"):
                inputs = _unpack_all(stages, scratch, work.binaries, meter)
            with _phase(phases, "combine"):
                _combine(inputs, work, report)
        unpacked = inputs[-1]
    _link_tablespaces(work.target, {oid: work.links / str(oid) for oid in unpacked.tablespaces})
    return unpacked.facts.record


@contextmanager
def _inputs_directory(target: Path) -> Iterator[Path]:
    """Beside the target, so that files need not be copied but only linked."""
    path = Path(tempfile.mkdtemp(prefix=f".{target.name[:100]}-stages-", dir=target.parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _unpack_all(
    stages: Sequence[Path], scratch: Path, binaries: Binaries, meter: "_Meter"
) -> list[_Unpacked]:
    places = [
        _input_place(scratch / str(number), with_wal=stage is stages[-1])
        for number, stage in enumerate(stages)
    ]
    inputs = _unpack(stages, places, binaries, meter)
    for stage, unpacked in zip(stages, inputs, strict=True):
        _link_tablespaces(unpacked.base, unpacked.tablespaces)
        shutil.copyfile(stage / MANIFEST, unpacked.base / MANIFEST)
    return inputs


def _input_place(room: Path, *, with_wal: bool) -> _Place:
    base = room / "base"
    base.mkdir(mode=0o700, parents=True)

    def home(oid: int) -> Path:
        path = room / str(oid)
        path.mkdir(mode=0o700)
        return path

    return _Place(base, home, with_wal)


def _unpack(
    stages: Sequence[Path], places: Sequence[_Place], binaries: Binaries, meter: "_Meter"
) -> list[_Unpacked]:
    """Unpack and verify stages that follow one another; raises GenerationDamagedError."""
    spaces = [
        {oid: place.home(oid) for oid in _tablespace_oids(path)}
        for path, place in zip(stages, places, strict=True)
    ]
    tasks = [
        StageTask(path.absolute(), Targets(place.base, homes, place.with_wal), place.base.parent)
        for path, place, homes in zip(stages, places, spaces, strict=True)
    ]
    inputs: list[_Unpacked] = []
    for number, done in enumerate(read_stages(tasks, binaries, meter.count)):
        _require_intact((*done.findings, *_misplaced(stages[number], done.facts)))
        inputs.append(_Unpacked(places[number].base, spaces[number], done.facts))
        _require_intact(check_chain([stage.facts for stage in inputs]))
    return inputs


def _misplaced(path: Path, facts: StageFacts) -> Iterator[Finding]:
    """A stage of another generation, put in this one's place with its record."""
    generation = path.parent if path.name == FULL_DIR else path.parent.parent
    if facts.record is not None and facts.record.generation != generation.name:
        problem = f"it belongs to the generation {facts.record.generation}"
        yield Finding(facts.name, SIDECAR, problem, FindingKind.CHAIN)


def _tablespace_oids(stage: Path) -> list[int]:
    names = (re.fullmatch(r"([1-9]\d{0,9})\.tar\.gz", name) for name in os.listdir(stage))
    return sorted(int(match.group(1)) for match in names if match is not None)


def _combine(inputs: Sequence[_Unpacked], work: _Work, report: Report) -> None:
    last = inputs[-1]
    mapping = {place: work.home(oid) for oid, place in last.tablespaces.items()}
    for home in mapping.values():
        home.rmdir()  # pg_combinebackup wants to make it
    argv = [
        work.binaries.path("pg_combinebackup"),
        *(str(stage.base) for stage in inputs),
        f"--output={work.target}",
        "--no-manifest",  # every input was verified; a manifest of the output proves nothing
        "--no-sync",
        *_copy_method(work, last),
        *(f"--tablespace-mapping={_quoted(old)}={_quoted(new)}" for old, new in mapping.items()),
    ]

    def tick(_: str | None) -> bool:
        report(MaterialiseProgress("combine"))
        return False

    ended = run_program(argv, {"LC_ALL": "C", "PATH": os.environ.get("PATH", "")}, tick)
    if ended.exit_code != 0:
        raise _combine_failure(ended, work.target)


def _combine_failure(ended: Ended, target: Path) -> LeitstandError:
    obstacle = obstacle_said(ended.text)
    if obstacle is not None:
        return unwritable(target.parent, obstacle, ended.text)
    return CombineError(
        f"pg_combinebackup failed (status {ended.exit_code})",
        detail=ended.text or None,
        remedy="Its last lines say why. Each backup of the chain verified before it was combined;"
        " try an earlier stage.",
    )


def _copy_method(work: _Work, last: _Unpacked) -> list[str]:
    """Hard links where they can be made: the inputs are thrown away, so nobody else has the files.

    Only the programs of version 18 know how, and only within one file system.
    """
    devices = {os.stat(path).st_dev for path in (last.base, work.target.parent)}
    if work.homes:
        devices.add(os.stat(work.tablespace_root).st_dev)
    return ["--link"] if work.binaries.major >= _LINKS_SINCE and len(devices) == 1 else []


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("=", "\\=")


def _link_tablespaces(data: Path, places: Mapping[int, Path]) -> None:
    """Make the links, and the map from which PostgreSQL makes them again when it starts."""
    lines = []
    for oid, place in sorted(places.items()):
        link = data / _TABLESPACES / str(oid)
        link.unlink(missing_ok=True)
        link.symlink_to(place.absolute())
        escaped = re.sub(rb"([\\\n\r])", rb"\\\1", os.fsencode(place.absolute()))
        lines.append(b"%d %s\n" % (oid, escaped))
    map_file = data / os.fsdecode(TABLESPACE_MAP)
    map_file.unlink(missing_ok=True)
    if lines:
        map_file.write_bytes(b"".join(lines))
        map_file.chmod(0o600)


def _require_intact(findings: Sequence[Finding]) -> None:
    if not findings:
        return
    lines = [f"{f.stage} {f.file}: {f.problem}" for f in findings[:SHOWN]]
    error = GenerationDamagedError(
        f"the backup {findings[0].stage} is damaged ({len(findings)} findings)",
        detail="\n".join(lines),
        remedy="Restore to an earlier stage of the generation, or an earlier generation.",
    )
    error.findings = tuple(findings)
    raise error


class _Meter:
    """Adds up what is read over all stages."""

    def __init__(self, report: Report, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def count(self, stage: Path, _: str, read: int) -> None:
        self._done += read
        self._report(MaterialiseProgress("unpack", stage.name, self._done, self._total))


@contextmanager
def _phase(phases: dict[str, float], name: str) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        phases[name] = round(time.monotonic() - began, 3)


def _ignore(_: MaterialiseProgress) -> None:
    """Nobody wants to know."""
