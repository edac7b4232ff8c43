"""The API's proof: what of everything that is kept is proven."""

from fastapi import APIRouter, Response

from leitstand.web.api.answers import document
from leitstand.web.api.archive_shapes import ProofShape
from leitstand.web.callers import Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/proof", tags=["backups"])


@router.get("", response_model=ProofShape)
async def show_proof(_: Viewer, desk: Desk) -> Response:
    """Show the chain of evidence as it is now, sealed like `leitstand proof --json`."""
    return document(await desk.prove())
