"""Export and apply are inverse, whatever a job holds."""

import tomllib
from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict

from leitstand.execution import Isolation, Kinds, Params, Reporter, Result, RunFacts
from leitstand.jobs import JobSpec, Overlap, Thing, WindowPolicy, read_entries, to_toml
from leitstand.jobs.apply_plan import Action, Stored, plan_changes
from leitstand.jobs.misfire import Misfire


class AnyParams(Params):
    """Whatever is given."""

    model_config = ConfigDict(extra="allow")


class Anything:
    """A kind that takes any parameters."""

    kind: ClassVar[str] = "anything"
    params: ClassVar[type[Params]] = AnyParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    async def execute(self, params: AnyParams, run: RunFacts, reporter: Reporter) -> Result:
        return Result()


KINDS = Kinds([Anything()])

# What jsonb keeps as it is: no NUL, no lone surrogates, finite numbers.
text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | text | finite
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,20}", fullmatch=True)
durations = st.floats(min_value=0, max_value=1e7) | st.integers(0, 10**7).map(float)
triggers = st.sampled_from(
    [{}, {"schedule": "*/5 2 * * *"}, {"every": "90s"}, {"at": "2030-01-01 10:00"}, {"event": "e"}]
)


@st.composite
def jobs(draw: st.DrawFn) -> JobSpec:
    fields: dict[str, Any] = {
        "name": draw(names),
        "kind": "anything",
        "params": draw(st.dictionaries(text, values, max_size=4)),
        **draw(triggers),
        "timezone": draw(st.sampled_from(["UTC", "Europe/Berlin"])),
        "enabled": draw(st.booleans()),
        "tags": draw(st.lists(text, max_size=2)),
        "host": draw(st.none() | text),
        "priority": draw(st.integers(-1000, 1000)),
        "group": draw(st.none() | names),
        "timeout": draw(st.none() | durations.map(lambda seconds: seconds + 0.001)),
        "depends_on": draw(st.lists(names, max_size=2)),
        "retry": {"max_attempts": draw(st.integers(1, 100)), "backoff": draw(durations)},
        "misfire": draw(st.sampled_from(Misfire)),
        "overlap": draw(st.sampled_from(Overlap)),
        "window_policy": draw(st.sampled_from(WindowPolicy)),
        "splay": draw(durations),
        "resume": draw(st.booleans()),
    }
    return JobSpec.model_validate(fields)


@given(st.lists(jobs(), max_size=3, unique_by=lambda spec: spec.name))
@settings(max_examples=40, deadline=None)
def test_what_is_exported_reads_back_as_it_was(specs: list[JobSpec]) -> None:
    stored = {Thing.JOB: {spec.name: Stored(spec, managed=True) for spec in specs}}
    written = read_entries(tomllib.loads(to_toml(stored)), KINDS)
    assert written.jobs == {spec.name: spec for spec in specs}
    plan = plan_changes(written, stored)
    assert {change.action for change in plan.changes} <= {Action.UNCHANGED}


def test_defaults_are_left_out_and_durations_are_written_as_people_do() -> None:
    spec = JobSpec.model_validate({"name": "a", "kind": "anything", "timeout": 300, "splay": 0.5})
    text = to_toml({Thing.JOB: {"a": Stored(spec, managed=True)}})
    assert text.partition("\n\n")[2] == (
        '[[job]]\nname = "a"\nkind = "anything"\ntimeout = "5m"\nsplay = "500ms"\n'
    )
