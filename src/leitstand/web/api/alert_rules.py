"""The API's alert rules."""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from leitstand.alerts import AlertRule, AlertSpec, MetricPage, parse_rule
from leitstand.errors import UsageError
from leitstand.masking import MASK
from leitstand.web.api.alert_shapes import AlertRuleShape, PreviewShape
from leitstand.web.api.answers import Cursor, Limit, document, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.api.written import require_name
from leitstand.web.callers import Admin, Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.request_model import read_storable

router = APIRouter(prefix="/alert-rules", tags=["alerts"])

SHOWN = 500
"""Verdicts in a preview."""


@router.get("", response_model=ItemsOf[AlertRuleShape])
async def list_rules(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List alert rules by name."""
    rules = await desk.evaluator.rules.list_all()
    return page_by_name(rules, lambda rule: rule.name, cursor, limit)


@router.post("/preview", response_model=PreviewShape, openapi_extra=body_of(AlertSpec))
async def preview_rule(_: Operator, desk: Desk, request: Request) -> Response:
    """Say what a rule would find in the metrics as they are now; nothing is saved, nobody told."""
    spec = parse_rule(await read_storable(request))
    metrics = await desk.metrics_now()
    verdicts = (await desk.evaluator.preview(spec, metrics)).verdicts
    items = [verdict.as_dict() for verdict in verdicts[:SHOWN]]
    found = {"series": _matching(spec, metrics), "total": len(verdicts), "items": items}
    return document(found)


@router.get("/{name}", response_model=AlertRuleShape)
async def show_rule(_: Viewer, desk: Desk, name: str) -> Response:
    """Show the rule of this name or id."""
    return document((await desk.evaluator.rules.get(name)).as_dict())


@router.put("/{name}", response_model=AlertRuleShape, openapi_extra=body_of(AlertSpec))
async def save_rule(_: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Create the rule, or replace the one of that name; what fires goes on firing."""
    written = require_name(await read_storable(request), name)
    spec = parse_rule(written)
    if spec.recipient.endswith(f"://{MASK}"):
        raise UsageError("the recipient is masked", remedy="Write it in full.")
    return document((await desk.evaluator.rules.save(spec)).as_dict())


@router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
async def delete_rule(_: Admin, desk: Desk, name: str) -> Response:
    """Delete the rule and its alerts; nobody is told that what fired is over."""
    await desk.delete_rule(name)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.post("/{name}/enable", response_model=AlertRuleShape)
async def enable_rule(_: Operator, desk: Desk, name: str) -> Response:
    """Have the rule evaluated again."""
    return document((await desk.evaluator.rules.enable(name, enabled=True)).as_dict())


@router.post("/{name}/disable", response_model=AlertRuleShape)
async def disable_rule(_: Operator, desk: Desk, name: str) -> Response:
    """Have the rule evaluated no more; what fires is kept as it is."""
    return document((await desk.evaluator.rules.enable(name, enabled=False)).as_dict())


def _matching(spec: AlertSpec, metrics: MetricPage) -> int | None:
    series, rule = metrics.series(spec.metric_name), AlertRule(0, spec)
    return None if series is None else sum(rule.matches(each.labels) for each in series)
