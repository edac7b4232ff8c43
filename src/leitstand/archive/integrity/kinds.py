"""The job kinds ``reconcile`` and ``scrub``; each runs in a process of its own."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from leitstand.archive.integrity.integrity_run import run_reconcile, run_scrub
from leitstand.archive.integrity.quota import Quota, parse_size
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.scrubbing import Scrubbing
from leitstand.archive.integrity.settings import IntegritySettings
from leitstand.duration import parse_duration
from leitstand.errors import LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts
from leitstand.store.database import Database

OpenControl = Callable[[], AbstractAsyncContextManager[Database]]
"""Gives the control database for as long as the context lasts."""

SHOWN = 20
"""How many findings an error's detail and a result hold."""


class ReconcileFindingsError(LeitstandError):
    """Objects are missing, or there are some that no row names."""

    code = "RECONCILE_FINDINGS"


class ScrubFindingsError(LeitstandError):
    """The content of objects is not what the database says, or cannot be read."""

    code = "SCRUB_FINDINGS"


class ReconcileParams(Params):
    """Whether what is in both is listed in a file, too, or only counted."""

    existing: bool = False


class Reconcile:
    """Compares the keys of the database with those of the object store."""

    kind: ClassVar[str] = "reconcile"
    params: ClassVar[type[Params]] = ReconcileParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, settings: IntegritySettings, open_control: OpenControl) -> None:
        self._settings = settings
        self._open_control = open_control

    async def execute(self, params: ReconcileParams, run: RunFacts, reporter: Reporter) -> Result:
        """Reconcile and record; raises ReconcileFindingsError that names the first ones.

        A store that was not seen whole makes a partial failure.
        """

        def report(compared: int) -> None:
            reporter.progress(message=f"{compared} keys compared")

        async with self._open_control() as control:
            result = await run_reconcile(self._settings, control, report, existing=params.existing)
        reporter.log(", ".join(f"{count} {sort}" for sort, count in result.counts.items()))
        require_agreement(result)
        gaps = result.notes.as_dict()["unreadable"]
        return Result(
            objects_processed=result.existing.count,
            objects_skipped=max(result.unknown, len(result.notes.gaps)),
            skip_reasons=tuple(f"{gap['prefix']}: {gap['reason']}" for gap in gaps[:SHOWN]),
            result=result.summary(),
        )


def _quota(text: str) -> str:
    try:
        Quota.parse(text)
    except LeitstandError as error:
        raise ValueError(f"{error.message}. {error.remedy}") from error
    return text


def _rate(text: str) -> str:
    try:
        parse_size(text)
    except LeitstandError as error:
        raise ValueError(f"{error.message}. {error.remedy}") from error
    return text


def _seconds(value: object) -> object:
    try:
        return parse_duration(value) if isinstance(value, str) else value
    except LeitstandError as error:
        raise ValueError(error.message) from error


class ScrubParams(Params):
    """What goes before the settings: how much, the cool-down, bytes a second at most."""

    sample: Annotated[str, BeforeValidator(str), AfterValidator(_quota)] | None = None
    cooldown: Annotated[float, BeforeValidator(_seconds), Field(ge=0)] | None = None
    max_rate: Annotated[str, BeforeValidator(str), AfterValidator(_rate)] | None = None


class Scrub:
    """Reads a sample of the objects and compares their content with the database's checksums."""

    kind: ClassVar[str] = "scrub"
    params: ClassVar[type[Params]] = ScrubParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, settings: IntegritySettings, open_control: OpenControl) -> None:
        self._settings = settings
        self._open_control = open_control

    async def execute(self, params: ScrubParams, run: RunFacts, reporter: Reporter) -> Result:
        """Scrub and record; raises ScrubFindingsError that names the first findings."""

        def report(done: int, of: int) -> None:
            reporter.progress(100 * done / max(1, of), f"{done} of {of} objects read")

        options = self._settings.scrub_options(
            quota=None if params.sample is None else Quota.parse(params.sample),
            cooldown=params.cooldown,
            max_rate=None if params.max_rate is None else parse_size(params.max_rate) or None,
        )
        async with self._open_control() as control:
            result = await run_scrub(self._settings, control, options, report)
        reporter.log(f"{result.sampled} objects read, {len(result.findings)} of them wrong")
        reporter.log(str(result.coverage))
        require_right_content(result)
        return Result(
            bytes_processed=result.bytes_read,
            objects_processed=result.sampled,
            result=result.summary(),
        )


def require_agreement(result: Reconciliation) -> None:
    """Raise ReconcileFindingsError if anything is missing or orphaned."""
    if result.is_clean:
        return
    raise ReconcileFindingsError(
        f"{result.missing.count} objects are missing in {result.store},"
        f" {result.orphaned.count} are in no row",
        detail="\n".join(result.first_findings(SHOWN)),
        remedy="See all of them: leitstand reconcile",
    )


def require_right_content(result: Scrubbing) -> None:
    """Raise ScrubFindingsError if there are findings."""
    if result.is_clean:
        return
    raise ScrubFindingsError(
        f"{len(result.findings)} of {result.sampled} objects in {result.store} are not what the"
        " database says",
        detail="\n".join(str(finding) for finding in result.findings[:SHOWN]),
        remedy="Restore them from a backup, and look at the disk that they were on.",
    )
