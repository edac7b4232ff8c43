"""The pages on jobs and kinds name exactly the fields, kinds and parameters that exist."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from leitstand.app.control import open_control
from leitstand.duration import parse_duration
from leitstand.execution import CommandExecutor, HttpExecutor, Kinds
from leitstand.jobs import JobSpec, read_entries
from leitstand.settings import load_settings

DOCS = Path(__file__).parents[2] / "docs"
JOBS, KINDS, COMMANDS = (
    (DOCS / f"{name}.md").read_text() for name in ("jobs", "kinds", "commands")
)

_ROW = re.compile(r"^\| `(\w+)` \| (?:`(.*?)` |[^|]*)\| .+ \|$", re.MULTILINE)


def documented(text: str) -> dict[str, str]:
    """Fields and their defaults as TOML, empty for none."""
    return dict(_ROW.findall(text))


def defaults(model: type[BaseModel], rows: dict[str, str]) -> dict[str, str]:
    """The fields that there are, each with its documented default if that is the true one."""
    return {
        field.alias or name: _confirmed(field, rows.get(field.alias or name, ""))
        for name, field in model.model_fields.items()
    }


def _confirmed(field: FieldInfo, written: str) -> str:
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if default in ([], {}):  # as good as none where it means nothing
        default = None if not written else default
    value: object = tomllib.loads(f"x = {written}")["x"] if written else None
    if isinstance(default, float) and isinstance(value, str):
        value = parse_duration(value)
    return written if value == default else f"{default!r}"


def test_every_field_of_a_job_is_documented_with_its_default() -> None:
    rows = documented(JOBS.partition("## Groups")[0])
    assert set(rows) == set(JobSpec.model_fields)
    given = "\n".join(f"{name} = {default}" for name, default in rows.items() if default)
    bare = JobSpec(name="a", kind="command")
    assert JobSpec.model_validate({**tomllib.loads(given), "name": "a", "kind": "command"}) == bare
    without = {name for name, default in rows.items() if not default} - {"name", "kind"}
    assert {getattr(bare, name) for name in without} == {None}


async def test_every_kind_is_documented_with_its_parameters(conninfo: str) -> None:
    environment = {"LEITSTAND_DATABASE__URL": conninfo}
    async with open_control(load_settings(environ=environment)) as control:
        models = {kind: control.kinds.executor(kind).params for kind in control.kinds}
    parts = re.split(r"^## `([a-z-]+)`$", KINDS.partition("## A kind of your own")[0], flags=re.M)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    sections["command"] += COMMANDS.partition("## Parameters")[2].partition("\n## ")[0]
    assert set(sections) == set(models)
    for kind, model in models.items():
        rows = documented(sections[kind])
        assert rows == defaults(model, rows), kind
    listed = set(re.findall(r"^\| \[`([a-z-]+)`\]", KINDS, re.MULTILINE))
    assert listed == set(models)


@pytest.mark.parametrize("text", [JOBS, KINDS])
def test_the_examples_are_sound(text: str) -> None:
    examples = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        entries: dict[str, Any] = tomllib.loads(example)
        read_entries(entries, Kinds([CommandExecutor(), HttpExecutor()]))
