"""Runs all readiness checks at once, each within its own time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from leitstand.errors import LeitstandError

log = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[None]]
"""Returns when all is well; raises a LeitstandError that says what is not, or an AttentionError."""

CHECK_TIMEOUT = 2.0
"""Seconds that one check may take before it counts as failed."""


class AttentionError(LeitstandError):
    """What was checked does its work, but somebody should look at it."""

    code = "ATTENTION"


@dataclass(frozen=True)
class CheckResult:
    """How one check went; the texts are fit for outsiders: no credentials, no addresses."""

    ok: bool
    error: str | None = None
    warning: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """``{"ok": true}``, with a ``warning`` or not, or ``{"ok": false, "error": "…"}``."""
        if not self.ok:
            return {"ok": False, "error": self.error}
        return {"ok": True} if self.warning is None else {"ok": True, "warning": self.warning}


@dataclass(frozen=True)
class ReadinessReport:
    """All checks by name; ready when every one is well."""

    checks: Mapping[str, CheckResult]

    @property
    def ready(self) -> bool:
        """Whether this server can do its work now."""
        return all(result.ok for result in self.checks.values())

    def as_dict(self) -> dict[str, Any]:
        """The body of ``/readyz``."""
        return {
            "status": "ready" if self.ready else "not_ready",
            "checks": {name: result.as_dict() for name, result in self.checks.items()},
        }


class Readiness:
    """The registered checks."""

    def __init__(self, checks: Mapping[str, Check], timeout: float = CHECK_TIMEOUT) -> None:
        self._checks = checks
        self._timeout = timeout

    async def report(self) -> ReadinessReport:
        """Run all checks at once; takes no longer than the timeout, whatever hangs."""
        names = list(self._checks)
        results = await asyncio.gather(*(self._run(name) for name in names))
        return ReadinessReport(dict(zip(names, results, strict=True)))

    async def _run(self, name: str) -> CheckResult:
        try:
            async with asyncio.timeout(self._timeout):
                await self._checks[name]()
        except TimeoutError:
            return CheckResult(False, f"no answer within {self._timeout:g} s")
        except AttentionError as warning:
            return CheckResult(True, warning=warning.message)
        except LeitstandError as error:
            return CheckResult(False, error.message)
        except Exception:  # a fault in a check is a failed check; its text may name credentials
            log.exception("readiness check failed unexpectedly", check=name)
            return CheckResult(False, "the check itself failed; see the log")
        return CheckResult(True)
