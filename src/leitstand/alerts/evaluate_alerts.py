"""The kind ``evaluate-alerts``: looks at the metrics with all alert rules."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from leitstand.alerts.evaluator import Evaluator
from leitstand.alerts.metric_page import MetricPage
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts


class EvaluateAlertsParams(Params):
    """No parameters."""


class EvaluateAlerts:
    """One evaluation over what ``measure`` returns: the metrics as they are now."""

    kind: ClassVar[str] = "evaluate-alerts"
    params: ClassVar[type[Params]] = EvaluateAlertsParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(self, evaluator: Evaluator, measure: Callable[[], Awaitable[MetricPage]]) -> None:
        self._evaluator = evaluator
        self._measure = measure

    async def execute(
        self, params: EvaluateAlertsParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Evaluate; the result counts what fired, was suppressed and is over."""
        found = await self._evaluator.evaluate(await self._measure())
        counts = {
            "fired": len(found.fired),
            "suppressed": len(found.suppressed),
            "resolved": len(found.resolved),
        }
        return Result(objects_processed=len(found.verdicts), result=counts)
