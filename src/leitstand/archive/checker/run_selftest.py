"""Plants damage in a copy of a real backup and has the checker look at it.

The original is only read. A hard link would save the room of a copy, but making one changes the
time that tells whether a file was touched since it was verified. So a stage is chosen that is not
too large: what is wrong with a reader of archives is wrong with it for small ones, too.
"""

import fcntl
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from leitstand.archive.checker.planted_damage import Damage, NothingToDamageError, plantable
from leitstand.archive.checker.selftest import Planted, Selftest
from leitstand.archive.held_directory import held_directory, sweep
from leitstand.archive.hindrance import writing_to
from leitstand.archive.postgres.catalogue import GenerationState, StageEntry, list_generations
from leitstand.archive.postgres.finding import Finding
from leitstand.archive.postgres.generation_lock import in_use
from leitstand.archive.postgres.stage import SIDECAR
from leitstand.archive.postgres.verify import verify_stage
from leitstand.archive.settings import ArchiveSettings, no_generation
from leitstand.errors import LeitstandError
from leitstand.store.account import server_account

PREFIX = "selftest-"
SIZE_LIMIT = 256 << 20
"""Bytes of the stages among which one is chosen; if all are larger, the smallest is taken."""
_FICLONE = 0x40049409
"""ioctl(2) of Linux: share the blocks of another file until one of them is written to."""


class SelftestImpossibleError(LeitstandError):
    """The stage that was chosen has findings without any planted damage."""

    code = "SELFTEST_IMPOSSIBLE"


Checker = Callable[[Path], Sequence[Finding]]
"""What is tested: the findings in a stage's directory, none for a sound one."""


def run_selftest(
    archive: ArchiveSettings,
    rounds: int,
    seed: int,
    say: Callable[[str], None] = lambda _: None,
    checker: Checker | None = None,
) -> Selftest:
    """Plant ``rounds`` damages, one after another, chosen by ``seed`` like everything else.

    ``checker`` is the own verification of a stage unless another is given. Raises NotFoundError
    without a sound generation, SelftestImpossibleError, UnwritableError when there is no room.
    """
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    stage = _choose(archive.directory, chance)
    scratch = archive.drill_scratch(server_account())
    sweep(scratch, PREFIX)
    with (
        writing_to(scratch),
        in_use(_generation_of(stage)),
        held_directory(scratch, PREFIX) as room,
    ):
        bench = _Bench(stage.path, room, checker or _own_checker(archive, room))
        bench.require_sound()
        planted = list(islice(bench.plant_all(chance, say), rounds))
    name = f"{_generation_of(stage).name}/{stage.name}"
    return Selftest(datetime.now(UTC), name, seed, tuple(planted))


def _choose(directory: Path, chance: random.Random) -> StageEntry:
    generations = list_generations(directory)
    sound = [
        stage
        for generation in generations
        if generation.state is GenerationState.COMPLETE
        for stage in generation.stages
    ]
    if not sound:
        raise no_generation(directory)
    small = [stage for stage in sound if stage.size <= SIZE_LIMIT]
    return chance.choice(small) if small else min(sound, key=lambda stage: stage.size)


def _generation_of(stage: StageEntry) -> Path:
    return stage.path.parents[stage.name.count("/")]


def _own_checker(archive: ArchiveSettings, scratch: Path) -> Checker:
    def check(stage: Path) -> Sequence[Finding]:
        return verify_stage(stage, archive.binaries, scratch=scratch).findings

    return check


class _Bench:
    """A copy of a stage, in which one file at a time is broken and put right again."""

    def __init__(self, original: Path, room: Path, checker: Checker) -> None:
        self._original = original
        self._checker = checker
        # the names of the directories say which stage it is
        below = original.relative_to(original.parents[2])
        self._copy = room / below
        self._copy.mkdir(parents=True)
        for path in original.iterdir():
            if path.is_file():
                _own_copy(path, self._copy / path.name)

    def require_sound(self) -> None:
        """Raise SelftestImpossibleError if the checker finds fault with the copy as it is."""
        found = self._checker(self._copy)
        if found:
            raise SelftestImpossibleError(
                f"the backup {self._original} is damaged, so that nothing can be planted in it",
                detail=found[0].sentence,
                remedy="leitstand backup postgres verify all",
            )

    def plant_all(self, chance: random.Random, say: Callable[[str], None]) -> Iterator[Planted]:
        """Every damage once, in an order of ``chance``."""
        pairs = plantable(self._original)
        chance.shuffle(pairs)
        for damage, file in pairs:
            say(f"{file}: {damage.name}")
            with suppress(NothingToDamageError):
                yield self._plant(damage, file, chance)

    def _plant(self, damage: Damage, file: str, chance: random.Random) -> Planted:
        """Break ``file``, have the checker look, put it right again."""
        damage.plant(self._copy, file, chance)
        found = self._checker(self._copy)
        for name in {file, SIDECAR}:
            (self._copy / name).unlink(missing_ok=True)
            _own_copy(self._original / name, self._copy / name)
        return Planted(damage.name, file, found[0].sentence if found else None)


def _own_copy(source: Path, target: Path) -> None:
    """A copy that may be written to; it shares blocks with the original where that is possible."""
    with source.open("rb") as old, target.open("xb") as new, suppress(OSError):
        fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        return
    shutil.copyfile(source, target)
