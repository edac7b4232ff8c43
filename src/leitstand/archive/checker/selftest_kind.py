"""The job kind ``checker-selftest``."""

import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from pydantic import Field

from leitstand.archive.checker.run_selftest import run_selftest
from leitstand.archive.checker.selftest import Selftest
from leitstand.archive.checker.selftest_ledger import SelftestLedger
from leitstand.archive.settings import ArchiveSettings
from leitstand.display import counted
from leitstand.errors import LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts, interruptible

OpenSelftests = Callable[[], AbstractAsyncContextManager[SelftestLedger]]
"""Gives the history of self-tests."""

ROUNDS = 8


class CheckerMissedDamageError(LeitstandError):
    """Verification did not find damage that was planted: nothing it has passed is proven."""

    code = "CHECKER_MISSED_DAMAGE"


class SelftestParams(Params):
    """How many damages to plant, and by which ``seed`` they are chosen (any, if None)."""

    rounds: int = Field(default=ROUNDS, ge=1, le=1000)
    seed: int | None = Field(default=None, ge=0, lt=1 << 63)


class CheckerSelftest:
    """Plants damage in a copy of a real backup, and expects verification to find it."""

    kind: ClassVar[str] = "checker-selftest"
    params: ClassVar[type[Params]] = SelftestParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, archive: ArchiveSettings, open_ledger: OpenSelftests) -> None:
        self._archive = archive
        self._open_ledger = open_ledger

    async def execute(self, params: SelftestParams, run: RunFacts, reporter: Reporter) -> Result:
        """Plant, verify and record; raises CheckerMissedDamageError."""
        seed = secrets.randbits(32) if params.seed is None else params.seed
        with interruptible():
            done = run_selftest(
                self._archive, params.rounds, seed, lambda what: reporter.progress(message=what)
            )
        async with self._open_ledger() as ledger:
            await ledger.record(done)
        for planted in done.planted:
            reporter.log(f"{planted.sentence} – {planted.found or 'NOT FOUND'}")
        require_found(done)
        return Result(objects_processed=len(done.planted), result=done.as_dict())


def require_found(done: Selftest) -> None:
    """Raise CheckerMissedDamageError unless everything was found."""
    if done.success:
        return
    damages = counted(len(done.planted), "planted damage")
    raise CheckerMissedDamageError(
        f"the checker missed {len(done.missed)} of {damages} in a copy of {done.stage}",
        detail="\n".join(planted.sentence for planted in done.missed),
        remedy="Trust no verification until this is understood: report it with seed"
        f" {done.seed}, and drill your backups.",
    )
