"""What an agent needs to know, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from leitstand.errors import UsageError


@dataclass(frozen=True)
class AgentConfiguration:
    """``servers`` are base URLs, tried in their order; ``shutdown_grace`` is seconds."""

    servers: Sequence[str]
    client_id: str
    client_secret: str
    directory: Path
    tags: Sequence[str] = ()
    slots: int = 1
    ca_file: str = ""
    shutdown_grace: float = 30.0

    def __post_init__(self) -> None:
        problems = [problem for server in self.servers if (problem := _problem(server))]
        if not self.servers:
            problems.append("agent.servers names no control server")
        for key in ("client_id", "client_secret"):
            value = getattr(self, key)
            if not (value and value.isprintable()):
                problems.append(f"agent.{key} {'is missing' if not value else 'is no text'}")
        if problems:
            raise UsageError(
                "; ".join(problems),
                code="INVALID_SETTINGS",
                remedy="docs/agents.md shows how an agent is set up, step by step.",
            )


def _problem(server: str) -> str | None:
    try:
        parts = urlsplit(server)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
    except ValueError:
        usable = False
    return None if usable else f"agent.servers: {server!r} is no URL such as https://leitstand:8443"
