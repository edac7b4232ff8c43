"""Makes subject and body of a message: by the operator's template, or in plain words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from leitstand.notifications.wording import plain_body, plain_subject

log = structlog.get_logger(__name__)

LONGEST_SUBJECT = 200
LONGEST_BODY = 16_000
"""Characters; a header line of a mail may have 998 octets, and chats refuse long texts."""

LARGEST_TEMPLATE = 100_000

CUT = " …"


class Rendering:
    """Templates of a directory: ``email.subject``, ``email.body``, ``log.body`` and so on.

    A template sees ``channel``, ``payload``, ``payloads`` and every field of the payload by its
    name. It runs in a sandbox. One that is missing or fails is replaced by the plain facts.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    def subject(self, transport: str, channel: str, payloads: tuple[Mapping[str, Any], ...]) -> str:
        """One line without control characters, at most 200 characters."""
        text = self._rendered(f"{transport}.subject", channel, payloads)
        line = " ".join((text or plain_subject(channel, payloads)).split())
        return shortened("".join(c for c in line if c.isprintable()), LONGEST_SUBJECT)

    def body(self, transport: str, channel: str, payloads: tuple[Mapping[str, Any], ...]) -> str:
        """The text, at most 16,000 characters."""
        text = self._rendered(f"{transport}.body", channel, payloads)
        return shortened(text or plain_body(channel, payloads), LONGEST_BODY)

    def _rendered(
        self, name: str, channel: str, payloads: tuple[Mapping[str, Any], ...]
    ) -> str | None:
        source = self._source(name)
        if source is None:
            return None
        known = {"channel": channel, "payload": payloads[0], "payloads": payloads}
        try:
            return self._environment.from_string(source).render({**payloads[0], **known})
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            log.warning(
                "a template failed; the plain facts are sent", template=name, error=str(error)
            )
        except Exception:  # templates call what they like; none of it may cost a message
            log.exception("a template failed unexpectedly", template=name)
        return None

    def _source(self, name: str) -> str | None:
        if self._directory is None:
            return None
        try:
            with (self._directory / name).open(encoding="utf-8") as file:
                return file.read(LARGEST_TEMPLATE)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            log.warning("a template cannot be read", template=name, error=str(error))
            return None


def shortened(text: str, longest: int) -> str:
    """``text`` with at most ``longest`` characters; what was cut off shows as an ellipsis."""
    return text if len(text) <= longest else text[: longest - len(CUT)] + CUT
