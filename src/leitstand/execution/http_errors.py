"""The ways in which a request fails, and which of them are worth another attempt."""

from leitstand.errors import FailureClass, LeitstandError

BUSY = 429
"""Too many requests."""


class HttpUnreachableError(LeitstandError):
    """No answer: the name, the connection, or the server in the middle of it failed."""

    code = "HTTP_UNREACHABLE"
    failure_class = FailureClass.TRANSIENT


class HttpTimeoutError(LeitstandError):
    """The answer was not complete by the deadline."""

    code = "HTTP_TIMEOUT"
    failure_class = FailureClass.TRANSIENT


class HttpTlsError(LeitstandError):
    """The server's certificate is not one to trust."""

    code = "HTTP_TLS"


class HttpStatusError(LeitstandError):
    """The answer's status is not an expected one; transient where the server says that it is."""

    code = "HTTP_STATUS"


class HttpRedirectError(LeitstandError):
    """The server sends the request elsewhere, and the job does not allow that."""

    code = "HTTP_REDIRECT"


class HttpMismatchError(LeitstandError):
    """The status is right, and the body is not what it should be."""

    code = "HTTP_MISMATCH"


class HeadersFileError(LeitstandError):
    """The file with a request's headers cannot be used."""

    code = "HTTP_HEADERS_FILE"


def class_of(status: int) -> FailureClass:
    """Whether a status that is not expected may be another one soon."""
    busy = status == BUSY or status >= 500
    return FailureClass.TRANSIENT if busy else FailureClass.PERMANENT
