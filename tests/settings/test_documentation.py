"""The documents about the configuration name exactly the settings that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from leitstand.settings import Settings, load_settings
from leitstand.settings.keys import dotted, find_field, is_secret, leaves
from leitstand.settings.sections import (
    ContactSettings,
    DetectorSettings,
    HookSettings,
    Section,
)

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/configuration.md").read_text()
EXAMPLE = (ROOT / "leitstand.example.toml").read_text()
TABLES: dict[str, type[Section]] = {
    "detector": DetectorSettings,
    "contact": ContactSettings,
    "hook": HookSettings,
}
LISTS = {*TABLES, "job", "group", "window", "alert", "notify"}

_SECTION = re.compile(r"^(?:## )?`\[+([a-z.]+)\]+`", re.MULTILINE)
_ROW = re.compile(r"^\| `([a-z_]+)`( ✱)? \| `(.*?)` \| .+ \|$", re.MULTILINE)


def documented() -> Iterator[tuple[str, str, bool, str]]:
    """Each setting in the document: section, key, whether marked as secret, default as TOML."""
    parts = _SECTION.split(DOCUMENT)
    for section, text in zip(parts[1::2], parts[2::2], strict=True):
        for key, mark, default in _ROW.findall(text):
            yield section, key, bool(mark), default


def test_every_setting_is_documented_and_nothing_else() -> None:
    known = {dotted(path) for path, _ in leaves(Settings)} - LISTS
    known |= {f"{name}.{key}" for name, model in TABLES.items() for key in model.model_fields}
    assert {f"{section}.{key}" for section, key, _, _ in documented()} == known
    assert all(f"`[[{name}]]`" in DOCUMENT for name in LISTS)


def test_the_documented_defaults_are_the_defaults(tmp_path: Path) -> None:
    lines = []
    for section, key, _, default in documented():
        header = f"[[{section}]]" if section in TABLES else f"[{section}]"
        lines += [] if header in lines else [header]
        lines.append(f"{key} = {default}")
    file = tmp_path / "documented.toml"
    file.write_text("\n".join(lines))
    settings = load_settings(file, {}).settings
    assert {name: getattr(settings, name) for name in TABLES} == {
        name: (model(),) for name, model in TABLES.items()
    }
    assert settings.model_copy(update=dict.fromkeys(TABLES, ())) == Settings()


def test_secrets_are_marked() -> None:
    for section, key, marked, _ in documented():
        field = find_field(Settings, (*section.split("."), key))
        assert field is not None
        assert marked == is_secret(field), f"{section}.{key}"


@pytest.mark.parametrize("uncommented", [False, True])
def test_the_example_loads(tmp_path: Path, uncommented: bool) -> None:
    (tmp_path / "secret").write_text("postgresql://localhost/leitstand")
    text = re.sub(r"^#(?=[a-z])", "", EXAMPLE, flags=re.MULTILINE) if uncommented else EXAMPLE
    file = tmp_path / "leitstand.toml"
    secret = r"/etc/leitstand/(?:database-url|objects-password)"
    file.write_text(re.sub(secret, str(tmp_path / "secret"), text))
    settings = load_settings(file, {}).settings
    assert settings.drill.queries[0].expect == "true"
    assert settings.loop == Settings().loop
