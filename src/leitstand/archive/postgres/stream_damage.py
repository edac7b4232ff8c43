"""The error that the strict readers raise: the bytes of an archive are not as they were written."""

from leitstand.errors import LeitstandError


class StreamDamagedError(LeitstandError):
    """An archive is cut, changed or continued; the message does not repeat the file's name."""

    code = "ARCHIVE_DAMAGED"
