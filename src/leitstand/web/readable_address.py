"""Refuses requests whose path or query holds what no database could look for."""

from http import HTTPStatus

from starlette.requests import HTTPConnection

from leitstand.web.problem import ProblemError


async def require_readable_address(connection: HTTPConnection) -> None:
    """Raise ProblemError for a NUL character."""
    scope = connection.scope
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, "USAGE", "the address of the request holds a NUL character"
        )
