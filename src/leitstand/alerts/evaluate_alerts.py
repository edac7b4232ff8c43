"""The kind ``evaluate-alerts``: looks at the metrics with all alert rules."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from leitstand.alerts.evaluator import Evaluator
from leitstand.alerts.metric_page import MetricPage
from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts


class AlertsOffError(LeitstandError):
    """The settings want no rule evaluated."""

    code = "ALERTS_OFF"
    failure_class = FailureClass.PERMANENT


class EvaluateAlertsParams(Params):
    """No parameters."""


class EvaluateAlerts:
    """One evaluation over what ``measure`` returns: the metrics as they are now.

    Unless ``enabled`` each run ends with AlertsOffError: one that succeeded would look as if the
    rules had been well.
    """

    kind: ClassVar[str] = "evaluate-alerts"
    params: ClassVar[type[Params]] = EvaluateAlertsParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(
        self,
        evaluator: Evaluator,
        measure: Callable[[], Awaitable[MetricPage]],
        *,
        enabled: bool = True,
    ) -> None:
        self._evaluator = evaluator
        self._measure = measure
        self._enabled = enabled

    async def execute(
        self, params: EvaluateAlertsParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Evaluate; the result counts what fired, was suppressed and is over."""
        if not self._enabled:
            raise AlertsOffError(
                "alert rules are not evaluated",
                remedy="alerts.enabled is false in this server's settings.",
            )
        found = await self._evaluator.evaluate(await self._measure())
        counts = {
            "fired": len(found.fired),
            "suppressed": len(found.suppressed),
            "resolved": len(found.resolved),
        }
        return Result(objects_processed=len(found.verdicts), result=counts)
