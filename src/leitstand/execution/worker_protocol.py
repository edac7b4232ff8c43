"""What a server and a worker process say to each other: one request, then lines, all JSON."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.executor import Result, RunFacts
from leitstand.execution.output import KIB, storable

MESSAGE_LIMIT = 256 * KIB
"""Bytes of one message: a result is shown with its run, it is not where data goes."""
LOG_LINE_LIMIT = 8 * KIB
TEXT_LIMIT = 8 * KIB
"""Characters of an error's message, detail (its end) and remedy."""


class ResultTooLargeError(LeitstandError):
    """An executor returned more than a run's record can hold."""

    code = "RESULT_TOO_LARGE"


@dataclass(frozen=True)
class Request:
    """What a worker is asked to do; ``factory`` is ``module:function``, called with the kind."""

    factory: str
    kind: str
    params: Mapping[str, Any]
    run: RunFacts

    def encoded(self) -> bytes:
        """One JSON document."""
        run = {**asdict(self.run), "scheduled_at": self.run.scheduled_at.isoformat()}
        document = {**vars(self), "params": dict(self.params), "run": run}
        return json.dumps(document, default=str).encode()

    @classmethod
    def decoded(cls, document: bytes) -> "Request":
        """The reverse of ``encoded``."""
        fields = json.loads(document)
        run = fields.pop("run")
        run["scheduled_at"] = datetime.fromisoformat(run["scheduled_at"])
        return cls(**fields, run=RunFacts(**run))


@dataclass(frozen=True)
class LogLine:
    """A line for the run's log."""

    line: str


@dataclass(frozen=True)
class Progress:
    """The run's new progress."""

    percent: float | None
    message: str | None


@dataclass(frozen=True)
class Returned:
    """The executor ended with a result."""

    result: Result


@dataclass(frozen=True)
class Raised:
    """The executor ended with an error."""

    error: LeitstandError


Message = LogLine | Progress | Returned | Raised


def encode(message: Message) -> bytes:
    """One line. ResultTooLargeError above MESSAGE_LIMIT, TypeError for what JSON cannot say."""
    match message:
        case LogLine(line):
            fields: dict[str, Any] = {"log": line[:LOG_LINE_LIMIT]}
        case Progress(percent, words):
            fields = {"percent": percent, "message": words and words[:LOG_LINE_LIMIT]}
        case Returned(result):
            fields = {"result": {**vars(result), "result": dict(result.result)}}
        case Raised(error):
            texts = {name: value and value[-TEXT_LIMIT:] for name, value in error.as_dict().items()}
            fields = {"error": {**texts, "class": error.failure_class.value}}
    encoded = json.dumps(fields).encode()
    if len(encoded) > MESSAGE_LIMIT:
        raise ResultTooLargeError(
            f"the result has {len(encoded)} bytes, at most {MESSAGE_LIMIT} can be kept",
            remedy="Return counts, and write lists to a file.",
        )
    return encoded + b"\n"


def decode(line: bytes) -> Message | None:
    """The message in one line without its end; None when it is none (a library's stray print).

    Its texts can be stored: a file name that is not UTF-8 makes its way into many an error.
    """
    try:
        return _message(cleaned(json.loads(line)))
    except (ValueError, KeyError, TypeError):
        return None


def cleaned(value: Any) -> Any:  # noqa: ANN401 -- whatever JSON can say
    """``value`` with texts and numbers that others can read and PostgreSQL can store.

    Bytes that are no text become ``\\xNN``, numbers that JSON does not have null.
    """
    match value:
        case str(text):
            return storable(text.encode("utf-8", "backslashreplace"))
        case list(values) | tuple(values):
            return [cleaned(each) for each in values]
        case float(number) if not math.isfinite(number):  # JSON as others know it has none
            return None
        case dict(fields):
            return {cleaned(name): cleaned(each) for name, each in fields.items()}
    return value


def _message(fields: object) -> Message | None:
    match fields:
        case {"log": str(text)}:
            return LogLine(text)
        case {"percent": percent, "message": words}:
            return Progress(percent, words)
        case {"result": dict(result)}:
            return Returned(Result(**{**result, "skip_reasons": tuple(result["skip_reasons"])}))
        case {"error": dict(error)}:
            return Raised(_error(error))
    return None


def _error(fields: Mapping[str, Any]) -> LeitstandError:
    return LeitstandError(
        fields["message"],
        detail=fields["detail"],
        remedy=fields["remedy"],
        code=fields["code"],
        failure_class=FailureClass(fields["class"]),
    )
