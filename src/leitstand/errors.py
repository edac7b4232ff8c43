"""The errors that Leitstand raises on purpose: a stable code, a sentence, a remedy."""

from enum import StrEnum


class FailureClass(StrEnum):
    """Whether trying again can help: the only thing the retry rule asks of an error."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"


class LeitstandError(Exception):
    """What went wrong, in the words of the person who has to mend it.

    ``code`` is stable and in capitals (scripts and alert rules match it), ``message`` says what and
    where, ``detail`` carries facts such as a program's last lines, ``remedy`` says what to do.
    None of them may hold a secret: all four reach logs, the API and the run history.
    Subclasses set ``code`` and ``failure_class`` as class attributes.
    """

    code = "INTERNAL"
    failure_class = FailureClass.PERMANENT

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        remedy: str | None = None,
        code: str | None = None,
        failure_class: FailureClass | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.remedy = remedy
        self.code = code or type(self).code
        self.failure_class = failure_class or type(self).failure_class

    @property
    def sentence(self) -> str:
        """Message and detail, for where one text has to say it all."""
        return ": ".join(filter(None, (self.message, self.detail)))

    def as_dict(self) -> dict[str, str | None]:
        """The error's JSON shape: ``{code, message, detail, remedy}``."""
        return {
            "code": self.code,
            "message": self.message,
            "detail": self.detail,
            "remedy": self.remedy,
        }


class UsageError(LeitstandError):
    """The caller asked for something that makes no sense; exit code 2 on the command line."""

    code = "USAGE"


class NotFoundError(LeitstandError):
    """The named thing does not exist."""

    code = "NOT_FOUND"


class ConflictError(LeitstandError):
    """The thing exists already, or is in a state that forbids the request."""

    code = "CONFLICT"


class UnavailableError(LeitstandError):
    """A service that is needed does not answer; the same call may succeed later."""

    code = "UNAVAILABLE"
    failure_class = FailureClass.TRANSIENT
