"""Writes values as the JSON that scripts read: the shapes of ``--json`` and of the API."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from uuid import UUID

from leitstand.display import rfc3339

_AS_IT_IS = frozenset({bool, int})


def to_json(value: object) -> str:
    """``value`` as one JSON document, indented, without an end of line.

    Times become RFC 3339 in UTC with microseconds, durations seconds, dataclasses objects of their
    fields; what is no JSON number (NaN, infinity) becomes null. A time without a zone is an error:
    nobody could say what it means.
    """
    return json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)


def to_line(value: object) -> str:
    """``value`` as ``to_json`` writes it, on one line."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def plain(value: object) -> object:
    """``value`` made of what JSON knows: objects, arrays, text, numbers, true, false, null."""
    if value is None or type(value) in _AS_IT_IS or (type(value) is str and value.isascii()):
        return value  # most values, and quicker than the questions below
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return _plain_scalar(value.value if isinstance(value, Enum) else value)


def _plain_scalar(value: object) -> object:
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str | UUID | PurePath):
        return str(value).encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, bool | int):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")
