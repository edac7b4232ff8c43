"""Reads the two sources of settings: a TOML file and the environment."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from leitstand.nearest import nearest
from leitstand.settings.keys import (
    PREFIX,
    KeyPath,
    find_field,
    is_foreign,
    is_list,
    variables,
)
from leitstand.settings.layer import Layer
from leitstand.settings.sections import Section

SYSTEM_FILE = Path("/etc/leitstand/leitstand.toml")

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*$")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=")
_PART = re.compile(_KEY)

# Whole strings and comments, so that a quote or a # inside the one does not open the other.
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""'
    + r"|'''.*?'''"
    + r'|"(?:[^"\\\n]|\\.)*"'
    + r"|'[^'\n]*'"
    + r"|#[^\n]*",
    re.DOTALL,
)


def find_file(config: Path | None, environ: Mapping[str, str]) -> tuple[Path | None, str | None]:
    """The configuration file, and the option or variable that names it if one does.

    First found of ``config``, ``$LEITSTAND_CONFIG``, ``./leitstand.toml`` and the system's file.
    """
    if config is not None:
        return config, "--config"
    if environ.get("LEITSTAND_CONFIG"):
        return Path(environ["LEITSTAND_CONFIG"]), "LEITSTAND_CONFIG"
    found = (path for path in (Path("leitstand.toml"), SYSTEM_FILE) if _is_there(path))
    return next(found, None), None


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # there, but not for us: reading it will say why
        return True
    return True


def read_file(file: Path, named_by: str | None) -> Layer:
    """The values of a TOML file; one that cannot be read is a problem of the layer."""
    layer = Layer()
    by = f" (named by {named_by})" if named_by else ""
    try:
        text = file.read_text(encoding="utf-8")
        layer.values = tomllib.loads(text)
    except OSError as error:
        layer.problems.append(f"the configuration file {file}{by} cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        layer.problems.append(f"{file}: byte {error.start} is not UTF-8 text")
    except tomllib.TOMLDecodeError as error:
        layer.problems.append(f"{file}: not valid TOML: {error}")
    else:
        layer.origins = {path: f"{file}, line {line}" for path, line in key_lines(text)}
    return layer


def key_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """The line, counted from 1, of every table and key of a valid TOML document.

    Keys inside inline tables are not listed: they stand where the key that holds them stands.
    """
    table: KeyPath = ()
    entries: dict[KeyPath, int] = {}
    for number, line in enumerate(_TEXT.sub(_blank, text).split("\n"), start=1):
        if header := _HEADER.match(line):
            table = _place(_parts(header[2]), entries, new_entry=header[1] == "[[")
            yield table, number
        elif assignment := _ASSIGNMENT.match(line):
            yield table + _parts(assignment[1]), number


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith("#"):
        return ""
    return "\n" * found.count("\n") if found[:3] in ('"""', "'''") else found


def _parts(dotted_key: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted_key))


def _place(names: KeyPath, entries: dict[KeyPath, int], *, new_entry: bool) -> KeyPath:
    """The path of a header's table: a list's name is followed by the position of its last entry."""
    path: KeyPath = ()
    for depth, name in enumerate(names, start=1):
        path = (*path, name)
        if new_entry and depth == len(names):
            entries[path] = entries.get(path, -1) + 1
        if path in entries:
            path = (*path, entries[path])
    return path


def read_environment(environ: Mapping[str, str], model: type[Section]) -> Layer:
    """The settings among the variables; one with our prefix that is unknown is a problem."""
    layer = Layer()
    known = variables(model)
    for name in sorted(environ):
        if not name.startswith(PREFIX) or is_foreign(name):
            continue
        path = known.get(name)
        if path is None:
            layer.problems.append(_unknown_variable(name, known))
        else:
            layer.set(path, environ[name], name)
            if is_list(find_field(model, path)):
                _decode(layer, path, name, environ[name])
    return layer


def _unknown_variable(name: str, known: Mapping[str, KeyPath]) -> str:
    # Compared without underscores, since one instead of two is what gets typed most often.
    squeezed = {candidate.replace("_", ""): candidate for candidate in known}
    similar = nearest(name.replace("_", ""), squeezed)
    hint = (
        f"did you mean {squeezed[similar]}?"
        if similar
        else "settings are named LEITSTAND_<SECTION>__<KEY>"
    )
    return f"{name}: there is no such setting; {hint}"


def _decode(layer: Layer, path: KeyPath, variable: str, text: str) -> None:
    decoded: object = []
    try:
        decoded = json.loads(text)
    except json.JSONDecodeError as error:
        layer.problems.append(f"{variable}: not valid JSON: {error.msg}; expected a list, as []")
    layer.set(path, decoded, variable)
