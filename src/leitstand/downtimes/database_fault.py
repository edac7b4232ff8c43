"""Tells from a database's error whether to try again, to blame the message, or to ask people."""

from enum import StrEnum

from sqlalchemy.exc import DBAPIError

MYSQL_DATA = {1048, 1062, 1264, 1265, 1292, 1300, 1366, 1367, 1406, 1690, 3988}
"""Numbers of MySQL's errors about a value: null, duplicate, range, format, encoding, length."""

MYSQL_SETUP = {1044, 1045, 1049, 1050, 1054, 1142, 1143, 1146, 1227, 1364, 1698}
"""About access; databases, tables and columns that are unknown, or there already; columns of
somebody else's that must be given."""

POSTGRES_DATA = ("22", "23")
POSTGRES_SETUP = ("28", "3D", "3F", "42")
"""Classes of SQLSTATE with the same meanings."""


class Fault(StrEnum):
    """Whose fault an error is."""

    WEATHER = "weather"
    """The server is away, restarting, read-only or busy; the same statement can succeed later."""
    MESSAGE = "message"
    """A value that the table cannot hold; without it the rest succeeds."""
    SETUP = "setup"
    """A table, column or privilege is missing: nothing helps until somebody mends it."""


def fault_of(error: DBAPIError) -> Fault:
    """Judge an error by the server's code for it; what is unknown may pass by itself."""
    number = getattr(error.orig, "args", (None,))[:1]
    state = getattr(error.orig, "sqlstate", None)
    if number and isinstance(number[0], int):
        return _of_mysql(number[0])
    if isinstance(state, str):
        return _of_postgres(state)
    return Fault.WEATHER


def _of_mysql(number: int) -> Fault:
    if number in MYSQL_DATA:
        return Fault.MESSAGE
    return Fault.SETUP if number in MYSQL_SETUP else Fault.WEATHER


def _of_postgres(state: str) -> Fault:
    if state.startswith(POSTGRES_DATA):
        return Fault.MESSAGE
    return Fault.SETUP if state.startswith(POSTGRES_SETUP) else Fault.WEATHER


def reason_of(error: Exception) -> str:
    """What the driver said, without SQLAlchemy's statement and parameters."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(cause or error).strip() or type(error).__name__
