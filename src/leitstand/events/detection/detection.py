"""Runs the detectors of all sources that somebody listens to."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from leitstand.errors import FailureClass, LeitstandError
from leitstand.events.detection.ledger import DetectionLedger, SourceState
from leitstand.events.detection.log_table import Detector, LogTable
from leitstand.store.database import Database

log = structlog.get_logger(__name__)

COOLDOWN = 300.0
"""Seconds between two readings of a source, whatever starts them."""

JITTER = 15.0
"""Seconds by which a start may come early: that of the run before may have been late."""

LONGEST = 600.0
"""Seconds that one source may take; its job's timeout may end it sooner."""


class SourceFaultError(LeitstandError):
    """Reading a source failed in a way that nobody has thought of."""

    code = "SOURCE_FAULT"


_FAULT = "the reading has failed by a fault of Leitstand's own"
_FAULT_REMEDY = "The log has the details; please report them."


@dataclass(frozen=True)
class SourceReport:
    """What a run did with one source: ``did`` in a word, and what came of it."""

    source: str
    did: str
    emitted: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    dead: int = 0
    problem: LeitstandError | None = None

    @property
    def trouble(self) -> str | None:
        """Why it could not be read, for viewers: of one that is away the detail holds addresses."""
        if self.problem is None:
            return None
        away = self.problem.failure_class is FailureClass.TRANSIENT
        return self.problem.message if away else self.problem.sentence

    def as_dict(self) -> dict[str, Any]:
        """The report's JSON shape."""
        return {
            "source": self.source,
            "did": self.did,
            "emitted": dict(self.emitted),
            "late": self.late,
            "dead": self.dead,
            "problem": self.trouble,
        }


async def look_at(table: LogTable) -> None:
    """Raise what a reading of the table would: the database is away, or a name is wrong."""
    from leitstand.events.detection.reader import reading  # noqa: PLC0415 -- as in _read

    async with reading(table) as reader:
        await reader.page(0, 1)


class Detection:
    """The sources of an installation. Any number of processes may run it; they take turns.

    ``listened`` tells the events that enabled jobs listen to. ``settled``: see ``evidence``.
    """

    def __init__(
        self,
        database: Database,
        tables: Sequence[LogTable],
        listened: Callable[[], Awaitable[Collection[str]]],
        settled: float | None = None,
    ) -> None:
        self._tables = tables
        self._listened = listened
        self._settled = settled
        self._ledger = DetectionLedger(database)

    async def run_once(self, *, again: bool = False) -> list[SourceReport]:
        """Read each source once; ``again``: also those that were read a moment ago.

        A source that fails does not stop the others.
        """
        listened = await self._listened()
        reports = []
        for table in self._tables:
            heard = [detector for detector in table.detectors if detector.event in listened]
            reports.append(await self._run_source(table, heard, again=again))
        return reports

    async def _run_source(
        self, table: LogTable, heard: Sequence[Detector], *, again: bool
    ) -> SourceReport:
        if not heard:
            return SourceReport(table.name, "nobody listens")
        async with self._ledger.turn(table.name, LONGEST) as mine:
            if not mine:
                return SourceReport(table.name, "another run reads it")
            state = await self._ledger.state(table.name, table.identity)
            if not again and state.was_read_within(COOLDOWN - JITTER):
                return SourceReport(table.name, "was read a moment ago")
            try:
                return await self._read(table, heard, state)
            except LeitstandError as error:
                return await self._note(table, error)
            except Exception:
                # A fault of ours, or of a driver that met a value which it does not know.
                log.exception("a source cannot be read: a fault", source=table.name)
                return await self._note(table, SourceFaultError(_FAULT, remedy=_FAULT_REMEDY))

    async def _note(self, table: LogTable, error: LeitstandError) -> SourceReport:
        log.warning("a source cannot be read", source=table.name, error=error.sentence)
        report = SourceReport(table.name, "cannot be read", problem=error)
        await self._ledger.note_trouble(table.name, "unavailable", report.trouble)
        return report

    async def _read(
        self, table: LogTable, heard: Sequence[Detector], state: SourceState
    ) -> SourceReport:
        if table.is_offline:
            await self._ledger.note_trouble(table.name, "offline", None)
            return SourceReport(table.name, "is off line")
        # SQLAlchemy takes a quarter of a second to load, which commands without it need not pay.
        from leitstand.events.detection.reader import reading  # noqa: PLC0415
        from leitstand.events.detection.scan import Scan  # noqa: PLC0415

        options = {} if self._settled is None else {"settled": self._settled}
        async with reading(table, **options) as reader:
            advance = await Scan(table, heard, state, reader).run()
        if not await self._ledger.save(state, advance):
            return SourceReport(table.name, "another run was faster")
        did = "began" if state.highest is None else "began anew" if advance.reset else "was read"
        return SourceReport(table.name, did, advance.emitted, advance.late, advance.dead)
