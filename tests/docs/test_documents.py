"""The documents name only what exists: links, commands, paths, packages, settings."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

from leitstand.cli.command_table import COMMANDS
from leitstand.settings import Settings
from leitstand.settings.keys import dotted, leaves

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/leitstand"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
KEYS = {dotted(path) for path, _ in leaves(Settings)}
TABLES = {key.rpartition(".")[0] for key in KEYS}
SECTIONS = {key.split(".")[0] for key in KEYS if "." in key}

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(r"\bsrc/leitstand[\w/.]*\w")
_CODE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(?:^|[\s(`/])leitstand ((?:--?[a-z]|[a-z])[^`|#\n]*)")
_KEY = re.compile(rf"\b(?:{'|'.join(sorted(SECTIONS))})(?:\.[a-z_]+)+")
_FILE_ENDINGS = (".json", ".jsonl", ".md", ".py", ".toml")


def each(document: Path) -> str:
    return str(document.relative_to(ROOT))


documents = pytest.mark.parametrize("document", DOCUMENTS, ids=each)


@documents
def test_relative_links_lead_somewhere(document: Path) -> None:
    links = [link for link in _LINK.findall(document.read_text()) if "://" not in link]
    assert [link for link in links if not leads_somewhere(document, link)] == []


def leads_somewhere(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@documents
def test_commands_exist_with_their_options(document: Path) -> None:
    assert [line for line in commands(document.read_text()) if complaint(line)] == []


def test_the_check_of_commands_finds_what_is_wrong() -> None:
    assert complaint("run list --json") is None
    assert complaint("backup postgres rotate --keep 3") is None
    assert complaint("fly FILE") == "fly"
    assert complaint("run fly 1") == "fly"
    assert complaint("drill run --often") == "--often"


def commands(text: str) -> Iterator[str]:
    """What follows `leitstand` in code: in spans, in fenced and in indented blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^ {4,}(.+)$", outside, re.MULTILINE)
    for code in (*blocks, *indented, *_CODE.findall(outside)):
        yield from (found.strip() for found in _COMMAND.findall(code))


def complaint(line: str) -> str | None:
    """The first word of a command that means nothing to Leitstand, or None."""
    first, *words = line.split()
    if first.startswith("-"):
        return None
    if first not in COMMANDS:
        return first
    # Typer brings a click of its own, so the tree is told by its attributes, not by its classes.
    command: Any = typer.main.get_command(import_module(COMMANDS[first].module).app)
    for word in words:
        below = getattr(command, "commands", None)
        if word.startswith("-"):
            if word not in options(command):
                return word
        elif below is not None:
            if word not in below:
                return word
            command = below[word]
    return None


def options(command: Any) -> set[str]:
    return {"--help"} | {name for parameter in command.params for name in parameter.opts}


@documents
def test_paths_of_the_source_exist(document: Path) -> None:
    paths = _PATH.findall(document.read_text())
    assert [path for path in paths if not (ROOT / path).exists()] == []


@documents
def test_settings_that_are_named_are_known(document: Path) -> None:
    spans = _CODE.findall(document.read_text())
    named = {found for span in spans for found in _KEY.findall(span) if is_key(found)}
    known = KEYS | {f"{key}_file" for key in KEYS}
    assert named - known == set()


def is_key(text: str) -> bool:
    return not text.endswith(_FILE_ENDINGS) and text not in TABLES


def test_the_check_of_settings_sees_them() -> None:
    assert _KEY.findall("set backup.postgres.url or drill.queries") == [
        "backup.postgres.url",
        "drill.queries",
    ]


def test_every_package_stands_in_the_architecture() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    named = set(re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE))
    assert named == packages
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py"}
    assert {module for module in modules if f"`{module}`" not in text} == set()


def test_every_metric_in_the_table_is_exported_and_nothing_is_left_out() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    core = ("leitstand_core", "leitstand_module(?=_up|_scrape)")
    archive = ("backup_postgres", "backup_objects", "restore_drill", "storage")
    names = rf"(?:{'|'.join((*core, *archive))})_\w+"
    documented = {name.removesuffix("_total") for name in re.findall(rf"`({names})`", text)}
    exported = {
        name
        for path in SOURCE.rglob("*.py")
        if path.name in ("own.py", "scraping.py") or path.name.endswith("_metrics.py")
        for name in re.findall(rf'"({names})"', path.read_text())
    }
    assert documented == exported
