"""The profile of webtrees: its table ``log``, and what its messages mean.

The beginnings are English strings in webtrees' own code. A release that changes them stops the
matching event silently; nothing stands in for it, and a test pins the mapping.
"""

from pathlib import Path

from leitstand.events.detection.log_table import Columns, Detector, LogTable

COLUMNS = Columns("log_id", "log_type", "log_time", "log_message", ("gedcom_id", "user_id"))

_SILENT = ". A webtrees release that words its messages otherwise stops this event without a sign"

DETECTORS = (
    Detector(
        "cronjob:log-auth-failed",
        "auth",
        "Login failed",
        "a login attempt failed: wrong password, unknown, unverified or unapproved user, no session"
        " cookie" + _SILENT,
    ),
    Detector("cronjob:log-auth-login", "auth", "Login:", "a user logged in" + _SILENT),
    Detector("cronjob:log-auth-logout", "auth", "Logout:", "a user logged out" + _SILENT),
    Detector("cronjob:log-error", "error", "", "an exception was logged; the message is the trace"),
    Detector("cronjob:log-edit-update", "edit", "Update:", "a record was updated" + _SILENT),
    Detector("cronjob:log-edit-delete", "edit", "Delete:", "a record was deleted" + _SILENT),
    Detector("cronjob:log-search", "search", "", "a search ran; one event per searched tree"),
)


def webtrees(name: str, url: str, prefix: str, offline_marker: Path | None) -> LogTable:
    """The log of a webtrees installation whose tables' names begin with ``prefix``."""
    return LogTable(name, url, f"{prefix}log", COLUMNS, DETECTORS, offline_marker)
