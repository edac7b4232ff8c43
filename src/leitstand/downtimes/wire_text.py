"""Reads the bytes of a message as text, whatever encodings its parts were written in."""

import codecs

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return bad.decode("cp1252", "replace"), error.end


codecs.register_error("leitstand.windows_1252", _as_windows_1252)


def wire_text(body: bytes) -> str:
    """``body`` as text: UTF-8, and only what is not UTF-8 as Windows-1252.

    Cores copy authors and comments as bytes, so one message can hold both. Never fails; the five
    bytes that Windows-1252 does not know become replacement characters.
    """
    return body.decode("utf-8", "leitstand.windows_1252").removeprefix("\N{BYTE ORDER MARK}")


def encodable(text: str) -> str:
    r"""``text`` without lone surrogates, which JSON can write (``\ud800``) and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
