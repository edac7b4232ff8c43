"""Storage keys: bytes inside, as they are; text that every reader can hold outside."""

import base64
import unicodedata
from typing import Any


def key_bytes(value: str | bytes | bytearray | memoryview) -> bytes:
    """A key as a database or a file system gives it, as bytes; text is taken for UTF-8.

    Half a surrogate pair, by which Python carries a byte that is no text, becomes that byte again.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return bytes(value)


def key_text(key: bytes) -> str:
    r"""The key for people and JSON; bytes that are no UTF-8 appear as ``\xNN``."""
    return key.decode("utf-8", "backslashreplace")


def key_fields(key: bytes) -> dict[str, Any]:
    """The fields that name a key in a document; one that is no text is there in base64, too."""
    text = key_text(key)
    if text.encode() == key:
        return {"storage_key": text}
    return {"storage_key": text, "storage_key_base64": base64.b64encode(key).decode()}


def folded(key: bytes) -> bytes:
    """What two keys have in common that differ only in case or in their Unicode form.

    A store that folds names (most file systems of Windows and macOS, SMB) cannot hold both.
    """
    if key.isascii():
        return key.lower()
    text = key.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", text).casefold().encode("utf-8", "surrogateescape")


def spellings(key: bytes) -> set[bytes]:
    """Other spellings of a key under which a store that folds names may hold the object."""
    text = key.decode("utf-8", "surrogateescape")
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD")}
    forms |= {form.lower() for form in forms} | {form.upper() for form in forms}
    return {form.encode("utf-8", "surrogateescape") for form in forms} - {key}
