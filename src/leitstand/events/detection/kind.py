"""The job kind ``detect-log-events``: watches the log tables that are configured."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from leitstand.events.detection.detection import Detection
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts

OpenDetection = Callable[[], AbstractAsyncContextManager[Detection]]
"""Gives the detectors of the installation for as long as the context lasts."""


class DetectParams(Params):
    """No parameters: ``[[detector]]`` says what is watched."""


class DetectLogEvents:
    """Reads the log tables once, and stores what happened as events."""

    kind: ClassVar[str] = "detect-log-events"
    params: ClassVar[type[Params]] = DetectParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, open_detection: OpenDetection) -> None:
        self._open_detection = open_detection

    async def execute(self, params: DetectParams, run: RunFacts, reporter: Reporter) -> Result:
        """Read all sources; those that cannot be read make a partial failure."""
        async with self._open_detection() as detection:
            reports = await detection.run_once()
        for report in reports:
            emitted = sum(report.emitted.values())
            reporter.log(f"{report.source} {report.did}; {emitted} events")
        failed = [report for report in reports if report.problem is not None]
        return Result(
            objects_processed=sum(sum(report.emitted.values()) for report in reports),
            objects_skipped=len(failed),
            skip_reasons=tuple(f"{report.source}: {report.trouble}" for report in failed),
            result={"sources": [report.as_dict() for report in reports]},
        )
