"""Reads jobs, windows and groups from requests, as they are read from files."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from leitstand.execution import Kinds
from leitstand.jobs import JobFileError, Thing, read_entries
from leitstand.web.problem import ProblemError
from leitstand.web.request_body import read_document


async def read_spec(request: Request, thing: Thing, name: str, kinds: Kinds) -> Any:  # noqa: ANN401 -- the spec of the thing
    """The spec of ``thing`` that the body describes under the name from the path.

    Raises ProblemError with everything that is wrong with it.
    """
    written = require_name(await read_document(request), name)
    try:
        specs = read_entries({thing.value: [written]}, kinds).specs[thing]
    except JobFileError as error:
        said = "; ".join(error.problems)
        raise ProblemError(HTTPStatus.BAD_REQUEST, error.code, said, error.remedy) from None
    return specs[name]


def require_name(written: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What was written, with the name from the path; raises ProblemError if it says another."""
    if written.get("name", name) != name:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, "USAGE", f"the path says {name!r}, and the body another name"
        )
    return {**written, "name": name}
