"""Log lines: one format for ours and the libraries', on standard error, without secrets."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from leitstand.logs import configure_logs, hush_revealing_libraries


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """pytest's own handlers come back, and no handler keeps its captured stream."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    shown = capsys.readouterr()
    assert shown.out == ""
    return [json.loads(line) for line in shown.err.splitlines()]


def test_elsewhere_than_on_a_terminal_each_line_is_an_object(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("info", "auto")
    structlog.get_logger("jobs").info("run ended", run=5, duration=1.5)
    structlog.get_logger("jobs").debug("not shown")
    (line,) = lines(capsys)
    assert str(line.pop("timestamp")).endswith("Z")
    assert line == {
        "event": "run ended",
        "run": 5,
        "duration": 1.5,
        "level": "info",
        "logger": "jobs",
    }


def test_libraries_write_through_the_same_format(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    logging.getLogger("uvicorn.error").warning("port %d is taken", 80)
    logging.getLogger("psycopg.pool").info("a connection was added")
    (line,) = lines(capsys)
    assert (line["event"], line["logger"]) == ("port 80 is taken", "uvicorn.error")


def test_debug_shows_what_libraries_say(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug", "json")
    logging.getLogger("psycopg.pool").info("a connection was added")
    assert len(lines(capsys)) == 1


def test_requests_with_their_secrets_are_not_shown_at_any_level(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hush_revealing_libraries()
    configure_logs("debug", "json")
    logging.getLogger("httpx").info("HTTP Request: POST https://example.org/hooks/hidden")
    logging.getLogger("httpcore.http11").debug("send_request_headers.started hidden")
    assert lines(capsys) == []


def test_no_secret_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    url = "postgresql://u:hidden@h/d"
    structlog.get_logger().info(url, url=url, password="hidden", inner={"token": "hidden"})
    logging.getLogger("psycopg").warning("cannot reach %s", url)
    try:
        raise RuntimeError(url)  # noqa: TRY301
    except RuntimeError:
        structlog.get_logger().exception("failed")
        logging.getLogger("x").exception("failed")
    shown = capsys.readouterr().err
    assert shown.count("RuntimeError") >= 2
    assert "hidden" not in shown


def test_people_read_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "console")
    structlog.get_logger().info("run ended", run=5)
    shown = capsys.readouterr().err
    assert "run ended" in shown
    assert "run=5" in shown
    assert "\x1b[" not in shown, "colours are for terminals"


def test_on_a_terminal_auto_is_for_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    configure_logs("info", "auto")
    structlog.get_logger().info("run ended")
    assert not capsys.readouterr().err.startswith("{")


def test_it_may_be_called_again(capsys: pytest.CaptureFixture[str]) -> None:
    for level in ("info", "warning"):
        configure_logs(level, "json")
    structlog.get_logger().info("no")
    structlog.get_logger().warning("yes")
    assert [line["event"] for line in lines(capsys)] == ["yes"]
