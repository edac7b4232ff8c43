"""Shows the address of a database or broker without any secret in it, however that is written."""

import re
from functools import cache
from urllib.parse import unquote, urlsplit

from leitstand.errors import UsageError
from leitstand.masking import MASK, mask_url

_LIBPQ_SCHEMES = ("postgresql://", "postgres://")
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*://")

_PLAUSIBLE = {
    "host": re.compile(r"@?[^\s=@]*"),
    "port": re.compile(r"(\d{1,5}(,\d{1,5})*)?"),
    "user": re.compile(r"[^\s=:]*"),
    "dbname": re.compile(r"[^\s=:@]*"),
}
"""What these hold when nothing went wrong. An unescaped character or a missing @ moves a password
into one of them, and then nothing of the address is shown."""


def shown_address(address: str) -> str:
    """The address with secrets as ``***``; as nothing but ``***`` where its parts are unclear.

    Unclear is what its reader cannot parse (libpq refuses a misspelt keyword), and what means
    something else once the secrets are masked: then one of them was not where it should be.
    """
    if not address:
        return ""
    if _UNSHOWABLE.search(address):
        return MASK
    if _SCHEME.match(address) and not address.startswith(_LIBPQ_SCHEMES):
        return _shown_url(address)
    return _shown_conninfo(address)


def _shown_conninfo(address: str) -> str:
    shown = mask_url(address)
    given, left = conninfo_parts(address), conninfo_parts(shown)
    if given is None or left is None:
        return MASK
    wanted = {k: MASK if k in secret_keywords() and v else v for k, v in given.items()}
    plausible = all(rule.fullmatch(given.get(k, "")) for k, rule in _PLAUSIBLE.items())
    return shown if left == wanted and plausible else MASK


def _shown_url(address: str) -> str:
    """Of a URL that is not PostgreSQL's; its query is hidden, whatever the names are."""
    try:
        parts = urlsplit(address)
        port, host, user = parts.port, parts.hostname or "", unquote(parts.username or "")
    except ValueError:
        return MASK
    behind = unquote(f"{host}{parts.path}{parts.query}{parts.fragment}")
    if re.search(r"[\s@=:]", user) or "@" in behind or re.search(r"[\s=]", host + parts.path):
        return MASK
    login = f"{user}:{MASK}@" if parts.password else f"{user}@" if user else ""
    place = f"[{host}]" if ":" in host else host
    place += "" if port is None else f":{port}"
    rest = parts.path + (f"?{MASK}" if parts.query else "") + (f"#{MASK}" if parts.fragment else "")
    return f"{parts.scheme}://{login}{place}{rest}"


def conninfo_parts(conninfo: str) -> dict[str, str] | None:
    """The parameters of a PostgreSQL URL or connection string; None if libpq cannot parse it.

    libpq's own message is kept from everybody: it repeats what it could not read.
    """
    # Takes 60 ms to import, which a command that shows no address should not pay.
    import psycopg  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    if _UNSHOWABLE.search(conninfo):  # libpq stops at a NUL and says nothing about the rest
        return None
    try:
        return {k: str(v) for k, v in conninfo_to_dict(conninfo).items() if v is not None}
    except (psycopg.Error, UnicodeError, ValueError):
        return None


def check_conninfo(key: str, conninfo: str) -> None:
    """Raise UsageError, which does not repeat it, if ``conninfo`` is none; ``key`` holds it."""
    if conninfo_parts(conninfo) is None:
        raise UsageError(
            f"{key} is not a PostgreSQL URL or connection string",
            remedy="Write it like postgresql://user@host:5432/database, with reserved characters "
            "of a password as %40 and so on; only parameters of libpq are known.",
            code="INVALID_SETTINGS",
        )


@cache
def secret_keywords() -> frozenset[str]:
    """The parameters that libpq itself says are not for display."""
    from psycopg import pq  # noqa: PLC0415 -- as above

    defaults = pq.Conninfo.get_defaults()
    return frozenset(o.keyword.decode() for o in defaults if o.dispchar == b"*")
