"""Who hears of how runs end: ``[[notify]]`` rules, or one for everything that goes wrong."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leitstand.errors import UsageError
from leitstand.execution import validation_sentence
from leitstand.jobs import Duration, EndedRun, RunStatus
from leitstand.notifications.notification import shown_recipient

TROUBLE = (RunStatus.FAILED, RunStatus.PARTIAL_FAILURE)


class NotifyRuleError(UsageError):
    """A rule that cannot be."""

    code = "INVALID_NOTIFY_RULE"


class NotifyRule(BaseModel):
    """Which ends of which jobs' runs are told to whom.

    ``jobs`` and ``kinds`` are names or patterns with ``*``; none means all. ``on`` are statuses. A
    failure that is tried again is told when the last attempt has failed, unless
    ``every_attempt``. Within ``repeat`` seconds the same trouble of a job is told once. Who was
    told of trouble hears of the next success, unless ``recovery`` is off.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    jobs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    on: tuple[RunStatus, ...] = TROUBLE
    recipients: tuple[Annotated[str, Field(pattern=r"\S")], ...] = Field(
        default=("default",), min_length=1
    )
    every_attempt: bool = False
    recovery: bool = True
    repeat: Duration = Field(default=3600.0, ge=0)

    def concerns(self, run: EndedRun) -> bool:
        """Whether this end is to be told."""
        if run.status not in self.on or not self.names(run):
            return False
        return self.every_attempt or not run.goes_on

    def as_dict(self) -> dict[str, Any]:
        """The rule's JSON shape."""
        return {**self.model_dump(), "recipients": [shown_recipient(r) for r in self.recipients]}

    def names(self, run: EndedRun) -> bool:
        """Whether it is about this run's job."""
        return _any(self.jobs, run.job) and _any(self.kinds, run.kind)


def _any(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def parse_notify_rules(entries: Iterable[Mapping[str, Any]]) -> list[NotifyRule]:
    """The rules that ``[[notify]]`` tables describe; without any, the one for all trouble.

    Raises NotifyRuleError that names each wrong field.
    """
    rules = []
    for number, entry in enumerate(entries, start=1):
        try:
            rules.append(NotifyRule.model_validate(dict(entry)))
        except ValidationError as error:
            raise NotifyRuleError(
                f"[[notify]] number {number}: {validation_sentence(error)}",
                remedy="docs/notifications.md explains every field.",
            ) from None
    return rules or [NotifyRule()]
