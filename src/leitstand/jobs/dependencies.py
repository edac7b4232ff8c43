"""Which jobs must have succeeded before another may start, and that none waits for itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from leitstand.errors import FailureClass, LeitstandError, UsageError
from leitstand.jobs.run_status import RunStatus


class DependencyNotSatisfiedError(LeitstandError):
    """A job that this one depends on did not succeed last time."""

    code = "DEPENDENCY_NOT_SATISFIED"
    failure_class = FailureClass.TRANSIENT


@dataclass(frozen=True)
class DependencyOutcome:
    """What is known about one dependency: None as status means that it never ended a run."""

    name: str
    exists: bool
    status: RunStatus | None


def unsatisfied(outcomes: Iterable[DependencyOutcome]) -> DependencyNotSatisfiedError | None:
    """The error for the first dependency that is not satisfied, None if all are.

    Only ``succeeded`` satisfies; a partial failure does not.
    """
    for outcome in outcomes:
        if not outcome.exists:
            said = "does not exist"
        elif outcome.status is None:
            said = "has never run"
        elif outcome.status is RunStatus.SUCCEEDED:
            continue
        else:
            said = f"last ended as {outcome.status.value}"
        return DependencyNotSatisfiedError(
            f"the job depends on {outcome.name!r}, which {said}",
            remedy=f"Look at `leitstand run list --job {outcome.name}`.",
        )
    return None


def refuse_cycle(name: str, depends_on: Iterable[str], edges: Mapping[str, Iterable[str]]) -> None:
    """Raise UsageError if ``name`` depending on ``depends_on`` would close a cycle.

    ``edges`` are the dependencies of all jobs as stored now; those of ``name`` are replaced.
    """
    graph = {**edges, name: tuple(depends_on)}
    path = _path_back(name, graph)
    if path:
        raise UsageError(
            f"the dependencies form a cycle: {' -> '.join(path)}",
            code="DEPENDENCY_CYCLE",
            remedy=f"Take one of these jobs out of depends_on of {name!r} or of the others.",
        )


def find_cycles(names: Iterable[str], edges: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Each cycle in which one of ``names`` takes part, once, as the path from a name to itself."""
    seen: set[frozenset[str]] = set()
    for name in names:
        path = _path_back(name, {name: (), **edges})
        if path and frozenset(path) not in seen:
            seen.add(frozenset(path))
            yield path


def _path_back(start: str, graph: Mapping[str, Iterable[str]]) -> list[str]:
    pending = [[start, name] for name in graph[start]]
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        if path[-1] == start:
            return path
        if path[-1] not in seen:
            seen.add(path[-1])
            pending.extend([*path, name] for name in graph.get(path[-1], ()))
    return []
