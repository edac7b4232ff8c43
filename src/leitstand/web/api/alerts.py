"""The API's alerts: what is pending, firing or was resolved."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from leitstand.alerts import AlertFilter, Phase, read_labels
from leitstand.web.api.alert_shapes import AlertShape
from leitstand.web.api.answers import Cursor, Limit, document, page
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.number_cursor import LARGEST, cut, number_in

router = APIRouter(prefix="/alerts", tags=["alerts"])

AlertId = Annotated[int, Path(ge=1, le=LARGEST, alias="id", description="The alert's number.")]
InState = Annotated[
    Phase | None, Query(description="Only those; without it what is pending or firing.")
]
OfRule = Annotated[str | None, Query(description="Only alerts of the rule of this name or id.")]
Labels = Annotated[
    list[str] | None, Query(alias="label", description="`NAME=VALUE`; may be repeated.")
]


@router.get("", response_model=ItemsOf[AlertShape])
async def list_alerts(  # noqa: PLR0913, PLR0917 -- a parameter is one of the request
    _: Viewer,
    desk: Desk,
    state: InState = None,
    rule: OfRule = None,
    labels: Labels = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List alerts, those that were first seen last before the others."""
    phases = AlertFilter().phases if state is None else (state,)
    wanted = AlertFilter(phases, rule, read_labels(labels or ()))
    found = await desk.evaluator.alerts.list_page(wanted, number_in(cursor), limit + 1)
    return page(*cut(found, lambda alert: alert.id, limit))


@router.get("/{id}", response_model=AlertShape)
async def show_alert(_: Viewer, desk: Desk, alert_id: AlertId) -> Response:
    """Show an alert."""
    return document((await desk.evaluator.alerts.get(alert_id)).as_dict())


@router.post("/{id}/acknowledge", response_model=AlertShape)
async def acknowledge_alert(caller: Operator, desk: Desk, alert_id: AlertId) -> Response:
    """Have nobody told again that a firing alert fires, until it is over."""
    await desk.evaluator.alerts.acknowledge(alert_id, caller.name)
    return await show_alert(caller, desk, alert_id)
