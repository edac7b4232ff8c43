"""The API's silences of alerts."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from leitstand.alerts import SilenceSpec, check_silence
from leitstand.jobs import Duration
from leitstand.web.api.alert_shapes import AlertShape, SilenceShape
from leitstand.web.api.answers import Cursor, Limit, document, page
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Controls, Desk
from leitstand.web.number_cursor import LARGEST, cut, number_in
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/silences", tags=["alerts"])

SilenceId = Annotated[int, Path(ge=1, le=LARGEST, alias="id", description="The silence's number.")]
Ended = Annotated[bool, Query(description="Also those that are over.")]


class Coverage(BaseModel):
    """What is silent: the alerts of a rule, of series with these labels, or both."""

    model_config = ConfigDict(extra="forbid")

    rule: str | None = Field(default=None, max_length=100)
    matchers: dict[str, str] = Field(default_factory=dict)


class SilenceRequest(Coverage):
    """A silence as it is asked for; ``duration`` is in seconds, or as ``"2h"``, from now on."""

    duration: Duration
    starts_at: AwareDatetime | None = None
    reason: str = Field(default="", max_length=1000)


@router.get("", response_model=ItemsOf[SilenceShape])
async def list_silences(
    _: Viewer, desk: Desk, ended: Ended = False, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List silences that hold or will hold, the latest made first."""
    before = number_in(cursor)
    found = await desk.evaluator.silences.list_page(ended=ended, before=before, limit=limit + 1)
    return page(*cut(found, lambda silence: silence.id, limit))


@router.get("/{id}", response_model=SilenceShape)
async def show_silence(_: Viewer, desk: Desk, silence_id: SilenceId) -> Response:
    """Show a silence, also one that is over."""
    return document((await desk.evaluator.silences.get(silence_id)).as_dict())


@router.post(
    "",
    response_model=SilenceShape,
    status_code=HTTPStatus.CREATED,
    openapi_extra=body_of(SilenceRequest),
)
async def add_silence(caller: Operator, desk: Desk, request: Request) -> Response:
    """Have nobody told for a time that these alerts fire."""
    wanted = await read_model(request, SilenceRequest, "silence")
    silence = await desk.evaluator.silences.add(
        await _covered(desk, wanted),
        wanted.duration,
        reason=wanted.reason,
        created_by=caller.name,
        starts_at=wanted.starts_at,
    )
    return document(silence.as_dict(), HTTPStatus.CREATED)


@router.post("/preview", response_model=ItemsOf[AlertShape], openapi_extra=body_of(Coverage))
async def preview_silence(_: Operator, desk: Desk, request: Request) -> Response:
    """List, on one page, what is pending or firing that a silence would cover."""
    wanted = await read_model(request, Coverage, "silence")
    covered = await desk.evaluator.alerts.covered_by(await _covered(desk, wanted))
    return page(covered, None)


@router.post("/{id}/expire", response_model=SilenceShape)
async def expire_silence(_: Operator, desk: Desk, silence_id: SilenceId) -> Response:
    """End a silence now; what still fires is told at the next evaluation."""
    return document((await desk.evaluator.silences.end(silence_id)).as_dict())


async def _covered(desk: Controls, wanted: Coverage) -> SilenceSpec:
    """What it would cover; raises NotFoundError for a rule that is none: a misspelt one is mute."""
    what = SilenceSpec(wanted.rule or None, wanted.matchers)
    check_silence(what)
    if what.rule is not None:
        what = SilenceSpec((await desk.evaluator.rules.get(what.rule)).name, what.matchers)
    return what
