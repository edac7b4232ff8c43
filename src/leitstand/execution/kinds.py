"""The job kinds that this installation knows: built in, and third-party ones by entry point."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from inspect import iscoroutinefunction
from typing import Any, cast

from pydantic import ValidationError

from leitstand.errors import LeitstandError, UsageError
from leitstand.execution.executor import Executor, Isolation, Params

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "leitstand.executors"


class NotImplementedKindError(UsageError):
    """No executor exists for a kind; nothing counts as success because nothing was there to run."""

    code = "NOT_IMPLEMENTED"


class Kinds:
    """Executors by kind."""

    def __init__(self, executors: Iterable[Executor[Any]]) -> None:
        self._executors: dict[str, Executor[Any]] = {}
        for executor in executors:
            self.add(executor)

    def add(self, executor: Executor[Any]) -> None:
        """Register an executor; two for one kind are a mistake of the installation."""
        if executor.kind in self._executors:
            raise LeitstandError(f"two executors claim the job kind {executor.kind!r}")
        self._executors[executor.kind] = executor

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._executors))

    def executor(self, kind: str) -> Executor[Any]:
        """The executor of ``kind``; raises NotImplementedKindError when there is none."""
        try:
            return self._executors[kind]
        except KeyError:
            raise NotImplementedKindError(
                f"no executor for the job kind {kind!r}",
                remedy=f"Known kinds: {', '.join(self)}. Is a package with executors missing?",
            ) from None

    def check(self, kind: str, params: Mapping[str, Any]) -> Params:
        """The typed parameters for ``kind``; raises UsageError that names each wrong field."""
        try:
            return self.executor(kind).params.model_validate(params)
        except ValidationError as error:
            raise UsageError(
                f"the parameters do not fit the job kind {kind!r}: {validation_sentence(error)}",
                code="INVALID_PARAMS",
            ) from None


def validation_sentence(error: ValidationError) -> str:
    """Each wrong field and what is wrong with it, without the values (they may be secrets)."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'value'}: {problem['msg']}"
        for problem in problems
    )


def third_party_executors() -> Iterator[Executor[Any]]:
    """One instance of each executor class that an installed package offers.

    One that cannot be made is left out with an error: jobs of its kind then fail loudly, and all
    others go on.
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            yield checked_executor(entry.load()())
        except Exception as error:  # whatever other people's code raises
            package = entry.dist.name if entry.dist else "unknown"
            said = f"{entry.value} of the package {package} is unusable: {error!r}"
            log.error("the executor %s", said)  # noqa: TRY400 -- seen at every command


def checked_executor(executor: Any) -> Executor[Any]:  # noqa: ANN401 -- whatever a package offers
    """The executor, if it is one; raises TypeError that says what is missing."""
    params = getattr(executor, "params", None)
    if not isinstance(getattr(executor, "kind", None), str):
        raise TypeError("'kind' must be text")
    if not (isinstance(params, type) and issubclass(params, Params)):
        raise TypeError("'params' must be a class that derives from Params")
    if not isinstance(getattr(executor, "isolation", None), Isolation):
        raise TypeError("'isolation' must be one of Isolation")
    if not iscoroutinefunction(getattr(executor, "execute", None)):
        raise TypeError("'execute' must be an async function")
    return cast(Executor[Any], executor)
