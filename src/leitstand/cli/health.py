"""`leitstand health`: asks the control server on this machine how it is."""

import http.client
import json
import urllib.error
import urllib.request
from typing import IO, Any

from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.errors import UnavailableError

app = Commands("health", "Whether Leitstand lives and is ready.")

PATIENCE = 10.0
"""Seconds; more than the slowest readiness check takes."""


@app.command("live")
def live(call: Invocation) -> ExitCode:
    """Ask whether the server answers at all."""
    return _show(call, *_ask(call, "livez"))


@app.command("ready")
def ready(call: Invocation) -> ExitCode:
    """Ask whether the server can do its work now."""
    return _show(call, *_ask(call, "readyz"))


def _ask(call: Invocation, path: str) -> tuple[bool, dict[str, Any]]:
    host, port = call.settings.server.address
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- compared, not bound
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/{path}"
    try:
        return _answer(url)
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(
            f"no control server answers at {url}",
            detail=str(getattr(error, "reason", error)),  # URLError wraps the reason
            remedy="Start it with `leitstand serve`, or set server.listen to where it runs.",
        ) from error
    except (ValueError, KeyError) as error:
        raise UnavailableError(
            f"what answers at {url} is not Leitstand",
            remedy="Set server.listen to where it runs; see what else uses this port.",
        ) from error


def _answer(url: str) -> tuple[bool, dict[str, Any]]:
    """Whether all is well, and the document; ValueError or KeyError if it is not one of ours."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 -- http, as above
            return True, _document(answer)
    except urllib.error.HTTPError as error:
        with error:
            return False, _document(error)


def _document(answer: IO[bytes]) -> dict[str, Any]:
    document = json.load(answer)
    if not isinstance(document, dict) or not isinstance(document["status"], str):
        raise ValueError("no status")  # noqa: TRY004 -- about the document, not about our types
    return document


def _show(call: Invocation, well: bool, document: dict[str, Any]) -> ExitCode:
    checks = document.get("checks", {})
    rows = [
        (name, "ok" if c["ok"] else "failed", c.get("error") or c.get("warning", ""))
        for name, c in checks.items()
    ]
    table = [Table(("check", "state", "problem"), rows)] if rows else []
    call.output.show(document, f"Leitstand is {document['status'].replace('_', ' ')}.", *table)
    return ExitCode.DONE if well else ExitCode.FAILURE
