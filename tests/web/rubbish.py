"""Requests that nobody should send, made of what the description of the API says of each path."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from leitstand.web.api.openapi import describe

DOCUMENT = describe()

NO_JSON = (
    b"{",
    b"\xff\xfe",
    b"null",
    b"[]",
    b'"x"',
    b"[" * 100_000,
    b'{"a": 1e999}',
    b'{"a": NaN}',
)
ODD_TEXT = ("", " ", "\0", "\ud800", "٣", "x" * 5000, "a/b", "..", "'; --", "\u202e", "100y", "***")
ODD_VALUES: tuple[Any, ...] = (
    *ODD_TEXT,
    *(None, True, -1, 0, 10**30, -1e308, float("nan"), [], {}, [[]], {"": {}}),
)


@dataclass(frozen=True)
class Odd:
    """A request."""

    method: str
    path: str
    body: bytes | None


def odd_requests() -> st.SearchStrategy[Odd]:
    """Any operation with odd parameters and an odd body, or one that is nearly right."""
    operations = [
        _requests(path, method, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]
    return st.one_of(operations)


def _requests(path: str, method: str, operation: dict[str, Any]) -> st.SearchStrategy[Odd]:
    parameters = operation.get("parameters", [])
    inside = [each["name"] for each in parameters if each["in"] == "path"]
    queries = [each["name"] for each in parameters if each["in"] == "query"]
    filled = st.fixed_dictionaries({name: _path_text() for name in inside})
    query = st.fixed_dictionaries({}, optional={name: _odd_text() for name in queries})
    return st.builds(
        lambda values, asked, body: Odd(method.upper(), _address(path, values, asked), body),
        filled,
        query,
        _bodies(operation),
    )


def _address(path: str, values: dict[str, str], asked: dict[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", _quoted(value))
    pairs = "&".join(f"{name}={_quoted(value)}" for name, value in asked.items())
    return f"{path}?{pairs}" if pairs else path


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _odd_text() -> st.SearchStrategy[str]:
    return st.sampled_from(ODD_TEXT) | st.text(max_size=20)


def _path_text() -> st.SearchStrategy[str]:
    """Without ``/``: that would be another path."""
    known = st.sampled_from(["1", "job", "full", "shop", "f", "default", "default"])
    return known | _odd_text().map(lambda text: text.replace("/", "") or "x")


def _bodies(operation: dict[str, Any]) -> st.SearchStrategy[bytes | None]:
    if "requestBody" not in operation:
        return st.none()
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    # surrogates are escaped, so that they arrive
    right = _values(schema, 4).map(lambda value: json.dumps(value).encode())
    return st.sampled_from(NO_JSON) | right


def _values(schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    """Values that the schema describes, and now and then an odd one in their place."""
    odd = st.sampled_from(ODD_VALUES)
    return odd if depth == 0 else st.one_of(_right(schema, depth), _right(schema, depth), odd)


def _right(schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _right(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    if "anyOf" in schema:
        return st.one_of([_right(each, depth) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            return _objects(schema, depth)
        case "array":
            return st.lists(_values(schema.get("items", {}), depth - 1), max_size=3)
        case "string":
            return st.text(max_size=10) | st.sampled_from(
                ["1h", "2026-01-01T00:00:00Z", "up", "log"]
            )
        case "integer":
            return st.integers(-2, 200)
        case "number":
            return st.floats()
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return st.sampled_from(ODD_VALUES)


def _objects(schema: dict[str, Any], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    fields = {n: _values(each, depth - 1) for n, each in schema.get("properties", {}).items()}
    required = {name: fields[name] for name in schema.get("required", ())}
    optional = {name: each for name, each in fields.items() if name not in required}
    if not fields:
        return st.dictionaries(st.text(max_size=5), _values({}, depth - 1), max_size=3)
    return st.fixed_dictionaries(required, optional=optional)
