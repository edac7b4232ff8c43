"""Takes passwords out of whatever is about to be shown: URLs, connection strings, named values."""

import re
from collections.abc import Mapping

MASK = "***"

# Greedy up to the last @ of the word: a password with an unescaped @ or / is hidden whole, too.
_URL_PASSWORD = re.compile(r"(\b[a-zA-Z][\w+.-]*://[^:/?#\s@]*:)[^\s]*@")

# `password=x` of libpq's keyword form and of a URL's query; quoted values may hold spaces. Whoever
# misspells the name (`pasword`) has written a password all the same.
_NAMED_PASSWORD = re.compile(
    r"""(\b\w{0,40}(?:pas+w(?:or)?d|pas+wrod|passphrase|pwd|secret)\w{0,40}|\btoken|_token(?<!fencing_token)
        |\bapi_?key)
        (\s*=\s*)
        (?:'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[^\s&;,'"]+)""",
    re.IGNORECASE | re.VERBOSE,
)

_SECRET_WORDS = {
    *("password", "passwd", "pass", "pwd", "passphrase", "secret", "token", "key", "apikey"),
    *("authorization", "cookie", "credential", "credentials"),
}
"""A name that ends with one of them names a secret (``X-Api-Key``); ``key`` alone does not."""

_SECRET_ENDINGS = ("password", "passwd", "passphrase", "secret", "apikey", "token")
"""Endings of names that are one word (``PGPASSWORD``)."""

_NO_SECRETS = {"key", "pass", "fencing_token", "storage_key", "public_key", "primary_key"}

HARMLESS_HEADERS = {"accept", "accept-language", "content-type", "user-agent", "cache-control"}
"""Headers of HTTP whose values need no hiding; any other may hold a secret."""


def mask_url(text: str) -> str:
    """``text`` with every password in it as ``***``: ``scheme://user:…@host``, ``password=…``.

    Works on one URL, a libpq connection string, and prose that holds either. User names, hosts and
    databases stay, since they are what one looks for. Rather too much is hidden than too little.
    """
    return _NAMED_PASSWORD.sub(rf"\1\2{MASK}", _URL_PASSWORD.sub(rf"\1{MASK}@", text))


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is to be hidden whole; a fencing token is not a secret."""
    lowered = name.lower().replace("-", "_")
    if lowered in _NO_SECRETS:
        return False
    return lowered.rpartition("_")[2] in _SECRET_WORDS or lowered.endswith(_SECRET_ENDINGS)


def mask_value(name: str, value: object) -> object:
    """``value`` as it may be shown under ``name``: mappings and sequences are masked inside.

    Of ``headers`` only values that are harmless are shown.
    """
    if isinstance(value, Mapping):
        mask = _mask_header if name.lower() == "headers" else mask_value
        return {key: mask(str(key), inner) for key, inner in value.items()}
    if is_secret_name(name):
        return MASK if value else value
    if isinstance(value, str):
        return mask_url(value)
    if isinstance(value, list | tuple):
        return [mask_value(name, inner) for inner in value]
    return value


def _mask_header(name: str, value: object) -> object:
    return value if name.lower() in HARMLESS_HEADERS or not value else MASK
