"""The job kind ``http``: a request, and what must come back for the run to succeed."""

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from leitstand.errors import LeitstandError
from leitstand.execution.child import ChildSpec
from leitstand.execution.executor import Isolation, Params, Reporter, Result, RunFacts
from leitstand.execution.http_errors import (
    HeadersFileError,
    HttpMismatchError,
    HttpRedirectError,
    HttpStatusError,
    HttpTimeoutError,
    class_of,
)
from leitstand.execution.http_params import HttpParams, check_header
from leitstand.execution.http_secrets import Secrets, shown_url
from leitstand.execution.output import KIB
from leitstand.execution.process import run_child

if TYPE_CHECKING:
    from leitstand.execution.http_exchange import Answer

FOUND, NOT_FOUND = 0, 3
SEARCH = (
    "import re, sys; "
    "found = re.search(sys.argv[1], sys.stdin.buffer.read().decode('utf-8', 'replace')); "
    f"sys.exit({FOUND} if found else {NOT_FOUND})"
)
"""Run in a process of its own: some expressions take longer than anybody waits, on any text."""

LARGEST_HEADERS_FILE = 64 * KIB


class HttpExecutor:
    """Carries out ``http`` runs."""

    kind: ClassVar[str] = "http"
    params: ClassVar[type[Params]] = HttpParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    async def execute(self, params: HttpParams, run: RunFacts, reporter: Reporter) -> Result:
        """Send the request and judge the answer.

        Raises one of ``http_errors``. No secret of the request (see ``Secrets``) is in any text
        that leaves here, also where the server quotes it.
        """
        headers = {**params.headers, **await asyncio.to_thread(read_headers, params.headers_file)}
        secrets = Secrets(params.url, headers)
        began = time.monotonic()
        try:
            async with asyncio.timeout(params.deadline) as limit:
                answer = await _exchange(params, headers, secrets)
                duration = time.monotonic() - began
                reporter.log(f"{_name(params)}: {_said(answer, duration)}")
                judge_status(params, answer, secrets)
                await judge_body(params, answer, secrets)
        except TimeoutError:
            if not limit.expired():
                raise
            raise HttpTimeoutError(
                f"{_name(params)} was not done within {params.deadline:g} s",
                remedy="Find out what the server waits for, or raise the job's 'deadline'.",
            ) from None
        return Result(
            bytes_processed=len(answer.body),
            result={
                "status": answer.status,
                "duration": round(duration, 6),
                "bytes": len(answer.body),
                "truncated": answer.truncated,
                "redirects": answer.redirects,
            },
        )


async def _exchange(params: HttpParams, headers: Mapping[str, str], secrets: Secrets) -> "Answer":
    from leitstand.execution.http_exchange import exchange  # noqa: PLC0415 -- see its docstring

    return await exchange(params, headers, secrets)


def read_headers(file: str | None) -> dict[str, str]:
    """The headers in a file of lines ``Name: value``; empty lines and ``#`` are passed over.

    Raises HeadersFileError, which names the line but not what is in it.
    """
    if file is None:
        return {}
    try:
        with Path(file).open(encoding="utf-8") as source:
            lines = source.read(LARGEST_HEADERS_FILE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise HeadersFileError(
            f"the headers in {file} cannot be read: {why}",
            remedy="It must be there, and readable, on every machine that runs this job.",
        ) from None
    headers: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            name, _, value = line.partition(":")
            headers[name.strip()] = _checked(name.strip(), value.strip(), f"{file}, line {number}")
    return headers


def _checked(name: str, value: str, place: str) -> str:
    try:
        check_header(name, value)
    except ValueError:
        raise HeadersFileError(f"{place} is no header", remedy="Write `Name: value`.") from None
    return value


def judge_status(params: HttpParams, answer: "Answer", secrets: Secrets) -> None:
    """Raise the error that the answer's status means, unless it is expected."""
    if params.expects(answer.status):
        return
    if 300 <= answer.status < 400 and answer.location is not None:
        raise HttpRedirectError(
            f"{_name(params)} redirects ({answer.status}) to {_target(answer.location, secrets)}",
            remedy="Write that URL into the job, or set follow_redirects = true.",
        )
    raise HttpStatusError(
        f"{_name(params)} answered {answer.status}, not {' or '.join(params.expected_status)}",
        detail=secrets.excerpt(answer.text, KIB) or None,
        failure_class=class_of(answer.status),
    )


async def judge_body(params: HttpParams, answer: "Answer", secrets: Secrets) -> None:
    """Raise HttpMismatchError unless the body is what it should be."""
    wanted = params.body_match
    if wanted is not None and wanted not in answer.text:
        raise _mismatch(params, answer, secrets, "the text of 'body_match'")
    if params.body_regex is not None and not await found(params, answer):
        raise _mismatch(params, answer, secrets, "what 'body_regex' describes")


async def found(params: HttpParams, answer: "Answer") -> bool:
    """Whether the regular expression is found in the body; the deadline ends the search."""
    text = answer.text.encode("utf-8", "replace")
    argv = [sys.executable, "-I", "-S", "-c", SEARCH, params.body_regex or ""]
    child = await run_child(ChildSpec(argv, {}, stdin=text, grace=0.5))
    if child.exit_code not in (FOUND, NOT_FOUND):
        raise LeitstandError("'body_regex' could not be searched for", detail=child.output.text())
    return child.exit_code == FOUND


def _mismatch(
    params: HttpParams, answer: "Answer", secrets: Secrets, what: str
) -> HttpMismatchError:
    read = f"the first {len(answer.body)} bytes of the body" if answer.truncated else "the body"
    return HttpMismatchError(
        f"{_name(params)} answered {answer.status}, but {what} is not in {read}",
        detail=secrets.excerpt(answer.text, KIB) or None,
    )


def _target(location: str, secrets: Secrets) -> str:
    try:
        return secrets.masked(
            shown_url(location) if "://" in location else location.partition("?")[0]
        )
    except ValueError:
        return "a place that is no URL"


def _name(params: HttpParams) -> str:
    return f"{params.method} {shown_url(params.url)}"


def _said(answer: "Answer", duration: float) -> str:
    size = f"{len(answer.body)} bytes{' and more' if answer.truncated else ''}"
    return f"{answer.status}, {size}, {duration:.3f} s"
