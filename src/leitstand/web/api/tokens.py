"""The API's own tokens."""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from leitstand.access import Role
from leitstand.web.api.answers import document, page
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import ItemsOf, NewTokenShape, TokenShape
from leitstand.web.callers import Admin
from leitstand.web.controls import Desk
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/tokens", tags=["tokens"])


class TokenSpec(BaseModel):
    """A token as it is asked for; ``expires_in`` is in seconds, without it it is valid for ever."""

    model_config = ConfigDict(extra="forbid")

    name: str
    role: Role
    expires_in: float | None = None


@router.get("", response_model=ItemsOf[TokenShape])
async def list_tokens(_: Admin, desk: Desk) -> Response:
    """List all tokens, on one page; what they are is not stored."""
    return page(await desk.access.list_tokens(), None)


@router.post(
    "",
    response_model=NewTokenShape,
    status_code=HTTPStatus.CREATED,
    openapi_extra=body_of(TokenSpec),
)
async def create_token(caller: Admin, desk: Desk, request: Request) -> Response:
    """Make a token; ``token`` is shown this once."""
    spec = await read_model(request, TokenSpec, "token")
    made, secret = await desk.access.create_token(
        spec.name, spec.role, caller.name, spec.expires_in
    )
    return document({**made.as_dict(), "token": secret}, HTTPStatus.CREATED)


@router.delete("/{name}", response_model=TokenShape)
async def revoke_token(_: Admin, desk: Desk, name: str) -> Response:
    """End the token now, with the logins that were made by it."""
    return document((await desk.access.revoke_token(name)).as_dict())
