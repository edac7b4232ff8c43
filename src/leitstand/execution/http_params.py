"""What a job of the kind ``http`` asks for, checked when the job is saved."""

import os
import re
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    field_validator,
    model_validator,
)

from leitstand.duration import DurationError, parse_duration
from leitstand.execution.executor import Params
from leitstand.execution.output import KIB

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LONGEST_PATTERN = 2000
"""Characters of a regular expression; it is handed to a process as an argument."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RANGE = re.compile(r"([1-5]\d\d)(?:-([1-5]\d\d))?")
_CLASS = re.compile(r"([1-5])xx")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _seconds(value: object) -> object:
    try:
        return parse_duration(value) if isinstance(value, str) else value
    except DurationError as error:
        raise ValueError(f"{error.message}. {error.remedy}") from error


def _list_of_text(value: object) -> object:
    values = value if isinstance(value, list | tuple) else [value]
    return [each if isinstance(each, bool) else str(each) for each in values]


def _status_range(text: str) -> str:
    written = _CLASS.sub(r"\g<1>00-\g<1>99", text.replace(" ", ""))
    match = _RANGE.fullmatch(written)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ValueError(f'{text!r} is no status; write 200, "200-299" or "2xx"')
    return written


def _absolute(path: str | None) -> str | None:
    if path is not None and not os.path.isabs(path):
        raise ValueError("must be an absolute path")
    return path


StatusRange = Annotated[str, AfterValidator(_status_range)]
AbsolutePath = Annotated[str, AfterValidator(_absolute)]


class HttpParams(Params):
    """A request and what must come back.

    ``expected_status`` holds numbers, ranges (``"200-299"``) and classes (``"2xx"``).
    ``body_match`` is text that must be in the body, ``body_regex`` a regular expression that must
    be found in it.
    ``deadline`` (seconds, or ``"30s"``) is for everything: name, connection, redirects, body.
    ``max_body`` is how many bytes of the body are read. ``headers_file`` holds lines
    ``Name: value``; use it for secrets, which would else be stored with the job.
    """

    url: str
    method: str = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    headers_file: AbsolutePath | None = None
    body: str | None = None
    json_body: Any = Field(None, alias="json")
    expected_status: Annotated[list[StatusRange], BeforeValidator(_list_of_text)] = Field(
        ["200-299"], min_length=1
    )
    body_match: str | None = Field(None, min_length=1)
    body_regex: str | None = Field(None, min_length=1, max_length=LONGEST_PATTERN)
    follow_redirects: bool = False
    verify: bool = True
    ca_file: AbsolutePath | None = None
    deadline: Annotated[float, BeforeValidator(_seconds)] = Field(
        30.0, gt=0, le=86400, allow_inf_nan=False
    )
    max_body: int = Field(KIB * KIB, ge=KIB, le=64 * KIB * KIB)

    @field_validator("url")
    @classmethod
    def _url_of_a_server(cls, url: str) -> str:
        # The URL itself is not in these sentences: it may hold a password.
        if re.search(r"[\x00-\x20\x7f]", url):
            raise ValueError("a URL holds no spaces and no control characters; write %20")
        try:
            parts = urlsplit(url)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname)
            sound = sound and (parts.port is None or parts.port > 0)
        except ValueError:
            sound = False
        if not sound:
            raise ValueError("write it as http://host/path or https://host:port/path")
        return url

    @field_validator("method")
    @classmethod
    def _known_method(cls, method: str) -> str:
        if method.upper() not in METHODS:
            raise ValueError(f"must be one of {', '.join(METHODS)}")
        return method.upper()

    @field_validator("headers")
    @classmethod
    def _sound_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            check_header(name, value)
        return headers

    @field_validator("body_regex")
    @classmethod
    def _regular(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"is no regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.body is not None and self.json_body is not None:
            raise ValueError("only one of 'body' and 'json' can be sent")
        if self.method == "HEAD" and (self.body_match or self.body_regex):
            raise ValueError("the answer to HEAD has no body to match")
        if self.ca_file is not None and not self.verify:
            raise ValueError("'ca_file' means nothing without 'verify'")
        return self

    def expects(self, status: int) -> bool:
        """Whether the job is content with this status."""
        return any(_within(status, written) for written in self.expected_status)


def _within(status: int, written: str) -> bool:
    first, _, last = written.partition("-")
    return int(first) <= status <= int(last or first)


def check_header(name: str, value: str) -> None:
    """Raise ValueError for a header that cannot be sent; its value is not in the message."""
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a header")
    if _CONTROL.search(value) or not value.isascii():
        raise ValueError(f"the value of {name} holds characters that no header can have")
