"""Reads the tables ``[[job]]``, ``[[group]]``, ``[[window]]`` of a file and checks all of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ValidationError

from leitstand.errors import LeitstandError
from leitstand.execution import Kinds
from leitstand.jobs.entry_problems import (
    Path,
    Problem,
    as_stored,
    hint,
    unstorable,
    violations,
)
from leitstand.jobs.group import GroupSpec
from leitstand.jobs.job import JobSpec
from leitstand.jobs.schedule import build_schedule, find_zone
from leitstand.jobs.trigger import ScheduleError
from leitstand.jobs.window import Window
from leitstand.jobs.window_spec import WindowSpec


class Thing(StrEnum):
    """What can stand in a file, in the order in which it is written to the database."""

    GROUP = "group"
    WINDOW = "window"
    JOB = "job"


MODELS: Mapping[Thing, type[BaseModel]] = {
    Thing.GROUP: GroupSpec,
    Thing.WINDOW: WindowSpec,
    Thing.JOB: JobSpec,
}

Where = Callable[[Path], str | None]
"""Where in which file something stands (``("job", 0, "schedule")``), if that is known."""


class JobFileError(LeitstandError):
    """A file of jobs is wrong; ``problems`` holds one sentence for each thing to mend."""

    code = "JOB_FILE"

    def __init__(self, problems: Sequence[str]) -> None:
        several = len(problems) > 1
        super().__init__(
            f"{len(problems)} things are wrong with the jobs" if several else problems[0],
            detail="\n".join(problems) if several else None,
            remedy="Nothing was written. docs/jobs.md explains every field.",
        )
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Written:
    """What a file asks for, by thing and name; ``places`` says where each stands."""

    specs: Mapping[Thing, Mapping[str, BaseModel]]
    places: Mapping[tuple[Thing, str], str] = field(default_factory=dict)

    @property
    def jobs(self) -> Mapping[str, JobSpec]:
        """The jobs among them."""
        jobs = self.specs.get(Thing.JOB, {})
        return {name: spec for name, spec in jobs.items() if isinstance(spec, JobSpec)}

    def place(self, thing: Thing, name: str) -> str:
        """``leitstand.toml, line 12: job "x"``, to begin a sentence with."""
        where = self.places.get((thing, name))
        return f'{where}: {thing} "{name}"' if where else f'{thing} "{name}"'


def read_entries(
    tables: Mapping[str, object], kinds: Kinds, where: Where = lambda _: None
) -> Written:
    """The things that the lists ``job``, ``group`` and so on of ``tables`` describe.

    Raises JobFileError with everything that is wrong in any of them; what depends on the database
    is not looked at.
    """
    reading = _Reading(kinds, where)
    specs = {thing: reading.read(thing, tables.get(thing.value, [])) for thing in Thing}
    if reading.problems:
        raise JobFileError(reading.problems)
    return Written(specs, reading.places)


class _Reading:
    def __init__(self, kinds: Kinds, where: Where) -> None:
        self._kinds = kinds
        self._where = where
        self.problems: list[str] = []
        self.places: dict[tuple[Thing, str], str] = {}

    def read(self, thing: Thing, entries: object) -> dict[str, BaseModel]:
        specs: dict[str, BaseModel] = {}
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            self._tell((thing.value,), "", f"write it as a list of tables: [[{thing}]]")
            return specs
        for index, entry in enumerate(entries):
            spec = self._spec(thing, (thing.value, index), entry)
            if spec is not None:
                self._add(thing, (thing.value, index), spec, specs)
        return specs

    def _spec(self, thing: Thing, path: Path, entry: object) -> BaseModel | None:
        if not isinstance(entry, Mapping):
            self._tell(path, "", f"write it as a table: [[{thing}]]")
            return None
        spec, problems = check_entry(MODELS[thing], as_stored(entry), self._kinds)
        label = f' "{entry["name"]}"' if isinstance(entry.get("name"), str) else ""
        for below, sentence in problems:
            self._tell((*path, *below), label, sentence)
        return spec

    def _add(self, thing: Thing, path: Path, spec: Any, specs: dict[str, BaseModel]) -> None:  # noqa: ANN401 -- one of MODELS
        if spec.name in specs:
            self._tell(path, f' "{spec.name}"', "name: there are two of that name in the file")
        specs[spec.name] = spec
        if place := self._where(path):
            self.places[thing, spec.name] = place

    def _tell(self, path: Path, label: str, sentence: str) -> None:
        place = self._where(path)
        thing = f"{path[0]}{label}"
        self.problems.append(f"{place}: {thing}: {sentence}" if place else f"{thing}: {sentence}")


def check_entry(
    model: type[BaseModel], entry: Mapping[str, Any], kinds: Kinds
) -> tuple[BaseModel | None, list[Problem]]:
    """The spec that a table describes, if it can be read, and all that is wrong with the table."""
    problems = list(unstorable(entry))
    if problems:
        return None, problems
    try:
        spec = model.model_validate(entry)
    except ValidationError as error:
        return None, [*violations(error, model), *_of_written_kind(entry, kinds)]
    if isinstance(spec, WindowSpec):
        return spec_of_window(spec.window()), []
    return spec, list(_of_job(spec, kinds)) if isinstance(spec, JobSpec) else []


def spec_of_window(window: Window) -> WindowSpec:
    """The window as one would write it: of the many ways, always the same one."""
    document = {name: value for name, value in window.as_dict().items() if name != "managed"}
    return WindowSpec.model_validate(document)


def _of_job(spec: JobSpec, kinds: Kinds) -> Iterator[Problem]:
    yield from _of_kind(spec.kind, spec.params, kinds)
    field = "timezone"
    try:
        find_zone(spec.timezone)
        names = ("schedule", "every", "at", "event")
        field = next((name for name in names if getattr(spec, name) is not None), field)
        build_schedule(spec.trigger, datetime.now(UTC))
    except ScheduleError as error:
        yield (field,), f"{field}: {error.message}. {error.remedy or ''}".rstrip()


def _of_written_kind(entry: Mapping[str, Any], kinds: Kinds) -> Iterator[Problem]:
    """What is wrong with kind and parameters of a table that is wrong elsewhere, too."""
    kind, params = entry.get("kind"), entry.get("params", {})
    if isinstance(kind, str) and isinstance(params, Mapping):
        yield from _of_kind(kind, params, kinds)


def _of_kind(kind: str, params: Mapping[str, Any], kinds: Kinds) -> Iterator[Problem]:
    if kind not in list(kinds):
        yield ("kind",), f"kind: no executor for the job kind {kind!r}{hint(kind, kinds)}"
        return
    model = kinds.executor(kind).params
    try:
        model.model_validate(params)
    except ValidationError as error:
        yield from violations(error, model, ("params",))
