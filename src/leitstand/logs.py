"""Log lines: for people on a terminal, as JSON elsewhere, without secrets, to standard error."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog
from structlog.types import Processor, WrappedLogger

from leitstand.masking import mask_value

LogFormat = Literal["auto", "console", "json"]

QUIET_LIBRARIES = {
    "alembic": logging.WARNING,  # its INFO is written for someone who typed `alembic upgrade`
    "asyncio": logging.WARNING,
    "psycopg": logging.ERROR,  # its warnings are about cancelled calls, which their callers log
    "psycopg.pool": logging.WARNING,
}
"""The least level of libraries whose lines of lower levels help nobody; "debug" shows them all."""

REVEALING_LIBRARIES = ("httpx", "httpcore")
"""They log whole URLs and headers, secrets and all, below WARNING: those lines are never shown."""


def configure_logs(level: str = "info", style: LogFormat = "auto") -> None:
    """Send all log lines of the process, the libraries' too, to standard error.

    ``level`` is a level's name in small letters. ``style`` "auto" means "console" when standard
    error is a terminal and "json", one object a line, when it is not. May be called again.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_common_steps(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_last_steps(style),
            ],
        )
    )
    logging.basicConfig(level=number, handlers=[handler], force=True)
    for name, least in QUIET_LIBRARIES.items():
        logging.getLogger(name).setLevel(number if number <= logging.DEBUG else max(number, least))
    hush_revealing_libraries(number)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_common_steps(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def hush_revealing_libraries(level: int = logging.WARNING) -> None:
    """Keep what may reveal secrets out of the log, at any ``level`` and also before configure_logs.

    Whoever uses one of REVEALING_LIBRARIES calls this when it is imported.
    """
    for name in REVEALING_LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def mask_secrets(
    logger: WrappedLogger, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A step that hides passwords in texts and the values of secret names."""
    for name, value in event.items():
        if not name.startswith("_"):
            event[name] = mask_value(name, value)
    return event


def _common_steps() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
    ]


def _last_steps(style: LogFormat) -> list[Processor]:
    """Tracebacks become text first, so that the mask covers them, too."""
    on_terminal = sys.stderr.isatty()
    as_text = structlog.processors.format_exc_info
    if style == "json" or (style == "auto" and not on_terminal):
        return [as_text, mask_secrets, structlog.processors.JSONRenderer(default=str)]
    return [as_text, mask_secrets, structlog.dev.ConsoleRenderer(colors=on_terminal)]
