"""The environment that a command gets: nothing of the server's own but what is named here."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from leitstand.execution.executor import RunFacts

INHERITED = ("PATH", "HOME", "LANG", "TZ")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
EVENT_FIELDS = 100
"""Payload fields that become variables; all of them are in the JSON on standard input."""
EVENT_VALUE_LIMIT = 4096
"""Characters of such a value: the system refuses one longer than 128 KiB, and 2 MiB of all."""


def command_environment(
    run: RunFacts, configured: Mapping[str, str], inherited: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Inherited, then configured, then the run's own variables; the later wins.

    ``inherited`` replaces what is taken from this process (INHERITED).
    """
    return {
        **(own_environment() if inherited is None else inherited),
        **configured,
        **run_variables(run),
        **dict(event_variables(run.event or {})),
    }


def own_environment() -> dict[str, str]:
    """What commands inherit from this process; PATH is always set."""
    found = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {"PATH": DEFAULT_PATH, **found}


def run_variables(run: RunFacts) -> dict[str, str]:
    """The run's facts; the fencing token is for stores that can refuse an outdated one."""
    return {
        "LEITSTAND_JOB": run.job,
        "LEITSTAND_RUN_ID": str(run.run_id),
        "LEITSTAND_ATTEMPT": str(run.attempt),
        "LEITSTAND_CORRELATION_ID": run.correlation_id,
        "LEITSTAND_SCHEDULED_AT": run.scheduled_at.isoformat(),
        "LEITSTAND_FENCING_TOKEN": str(run.fencing_token),
    }


def event_variables(event: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """``LEITSTAND_EVENT_NAME`` and so on, and ``LEITSTAND_EVENT_PAYLOAD_<FIELD>``.

    An event comes from outside: names are forced into A-Z, 0-9 and _ behind the fixed prefix,
    values lose NUL characters and what exceeds EVENT_VALUE_LIMIT.
    """
    payload = event.get("payload")
    fields = payload if isinstance(payload, Mapping) else {}
    for name, value in islice(event.items(), EVENT_FIELDS):
        if name != "payload":
            yield _variable("LEITSTAND_EVENT_", name, value)
    for name, value in islice(fields.items(), EVENT_FIELDS):
        yield _variable("LEITSTAND_EVENT_PAYLOAD_", name, value)


def _variable(prefix: str, name: str, value: object) -> tuple[str, str]:
    suffix = re.sub(r"[^A-Z0-9_]", "_", str(name)[:100].upper())
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # Lone surrogates, which JSON can carry, have no encoding.
    whole = text[:EVENT_VALUE_LIMIT].encode("utf-8", "replace").decode()
    return prefix + suffix, whole.replace("\0", "")
