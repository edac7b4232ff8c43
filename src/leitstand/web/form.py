"""Reads what the forms of the pages send."""

from urllib.parse import parse_qs

from fastapi import Request

from leitstand.web.request_body import read_body

FORM_LIMIT = 4096
"""Bytes; no form of ours has more."""


async def read_form(request: Request) -> dict[str, str]:
    """The fields that were filled in, each with its first value, without blanks around it.

    Raises ProblemError when the form is too long.
    """
    text = (await read_body(request, FORM_LIMIT)).decode("utf-8", "replace").replace("%00", "")
    return {name: values[0].strip() for name, values in parse_qs(text).items()}
