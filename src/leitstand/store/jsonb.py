"""Turns Python values into JSON that PostgreSQL accepts, whatever text is in them."""

import json
import math
import re
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

# An escaped backslash is matched first so that the text \u0000 (six characters) stays as it is.
_NUL = re.compile(r"(\\\\)|\\u0000")


def to_jsonb(value: object) -> Jsonb:
    """``value`` as a jsonb parameter: times as RFC 3339, UUIDs as text.

    PostgreSQL refuses NUL, lone surrogates and NaN in jsonb; all come from outside (a program's
    output, a file name) and become U+FFFD, ``?`` and null, so that none ever costs a result.
    """
    return Jsonb(value, dumps=json_text)


def json_text(value: object) -> str:
    """The text of ``to_jsonb``, for where many values go to the server as one array."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, default=_plain)
    if "\\u0000" in text:
        text = _NUL.sub(lambda match: match.group(1) or "\N{REPLACEMENT CHARACTER}", text)
    return text.encode("utf-8", "replace").decode()


def _finite(value: object) -> object:
    """``value`` with null for the numbers that JSON does not have (NaN and the infinities)."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
