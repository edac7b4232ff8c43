"""The page of alerts: what fires, silences and rules, and what its buttons do."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from leitstand.access import Role
from leitstand.alerts import AlertFilter, Phase, SilenceSpec, read_labels
from leitstand.duration import parse_duration
from leitstand.nearest import chosen
from leitstand.web.controls import Desk
from leitstand.web.form import read_form
from leitstand.web.number_cursor import LARGEST, cut, number_in
from leitstand.web.pages.guard import PageOperator, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/alerts", include_in_schema=False)

Number = Annotated[int, Path(ge=1, le=LARGEST)]
STATES = [phase.value for phase in Phase]
SHOWN = 100


@router.get("")
async def list_alerts(
    caller: PageViewer, desk: Desk, request: Request, state: str = "", cursor: str = ""
) -> Response:
    """What is pending or firing (or in the state that is asked for), silences, rules."""
    watch = desk.evaluator
    wanted = AlertFilter((chosen("state", state, Phase),)) if state else AlertFilter()
    found = await watch.alerts.list_page(wanted, number_in(cursor), SHOWN + 1)
    alerts, older = cut(found, lambda alert: alert.id, SHOWN)
    return pages_of(request).show(
        request,
        "alerts.html",
        caller,
        alerts=alerts,
        older=older,
        state=state,
        states=STATES,
        silences=await watch.silences.list_all(),
        rules=await watch.rules.list_all(),
        operates=caller.role.includes(Role.OPERATOR),
    )


@router.post("/{number}/acknowledge")
async def acknowledge(caller: PageOperator, desk: Desk, number: Number) -> Response:
    """Have nobody told again until it is over."""
    await desk.evaluator.alerts.acknowledge(number, caller.name)
    return to_page("/alerts")


@router.post("/silences")
async def silence(caller: PageOperator, desk: Desk, request: Request) -> Response:
    """Have nobody told for a time that these alerts fire."""
    form = await read_form(request)
    label = form.get("label")
    what = SilenceSpec(form.get("rule"), read_labels([label] if label else []))
    await desk.evaluator.silences.add(
        what,
        parse_duration(form.get("for", "")),
        reason=form.get("reason", ""),
        created_by=caller.name,
    )
    return to_page("/alerts")


@router.post("/silences/{number}/expire")
async def expire(_: PageOperator, desk: Desk, number: Number) -> Response:
    """End a silence now."""
    await desk.evaluator.silences.end(number)
    return to_page("/alerts")
