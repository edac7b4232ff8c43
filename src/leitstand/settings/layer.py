"""One source of settings: its values, where each stands, and what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leitstand.settings.keys import (
    KeyPath,
    dotted,
    entry_model,
    is_list,
    is_secret,
    table_model,
)
from leitstand.settings.sections import Section


@dataclass
class Layer:
    """Values as nested mappings; ``origins`` says for a path where it, and all below it, stands."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def origin(self, path: KeyPath) -> str | None:
        """Where the value at ``path`` comes from; None if this layer does not give it."""
        for length in range(len(path), 0, -1):
            found = self.origins.get(path[:length])
            if found is not None:
                return found
        return None

    def set(self, path: KeyPath, value: object, origin: str) -> None:
        """Put ``value`` at ``path`` (names only), making the tables above it."""
        table = self.values
        for part in path[:-1]:
            table = table.setdefault(str(part), {})
        table[str(path[-1])] = value
        self.origins[path] = origin

    def fill(self, path: KeyPath, value: object) -> None:
        """Put a derived ``value`` at ``path``, changing no table that was handed in.

        Where something else than a table stands in the way, that is the error to report.
        """
        self.values = _filled(self.values, path, value)

    def over(self, below: "Layer") -> "Layer":
        """Both layers as one; where both give a value, this one's holds. Lists are replaced."""
        replaced = {path for path in self.origins if _is_value(self.values, path)}
        kept = {
            path: origin
            for path, origin in below.origins.items()
            if not any(path[: len(top)] == top for top in replaced)
        }
        return Layer(
            _merged(below.values, self.values),
            {**kept, **self.origins},
            [*below.problems, *self.problems],
        )

    def read_secret_files(self, model: type[Section]) -> None:
        """Replace every ``<key>_file`` of a secret by ``<key>`` with the file's content."""
        self._read_in(self.values, model, ())

    def _read_in(self, table: dict[str, Any], model: type[Section], above: KeyPath) -> None:
        for name, info in model.model_fields.items():
            value = table.get(name)
            path = (*above, name)
            inner, entry = table_model(info), entry_model(info)
            if is_secret(info):
                self._read_secret(table, path)
            elif inner is not None and isinstance(value, dict):
                self._read_in(value, inner, path)
            elif entry is not None and is_list(info) and isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, dict):
                        self._read_in(item, entry, (*path, index))

    def _read_secret(self, table: dict[str, Any], path: KeyPath) -> None:
        name = str(path[-1])
        file_path = (*path[:-1], f"{name}_file")
        named = table.pop(f"{name}_file", None)
        if named is None or named == "":
            return
        origin = self.origin(file_path) or ""
        if table.get(name):
            self.problems.append(
                f"{origin}: both {dotted(path)} and {dotted(file_path)} are given; keep one of them"
            )
            return
        if not isinstance(named, str):
            self.problems.append(
                f"{origin}: {dotted(file_path)} must be the path of a file, for example "
                f'{name}_file = "/run/secrets/{name}"'
            )
            return
        table[name] = self._content(Path(named), dotted(file_path), origin)
        self.origins[path] = f"{named} ({origin})"

    def _content(self, file: Path, key: str, origin: str) -> str:
        try:
            return file.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except OSError as error:
            self.problems.append(f"{origin}: {key} names {file}: {error.strerror}")
        except UnicodeDecodeError:
            self.problems.append(f"{origin}: {key} names {file}: it is not UTF-8 text")
        return ""


def _filled(table: Mapping[str, Any], path: KeyPath, value: object) -> dict[str, Any]:
    name, below = str(path[0]), path[1:]
    if not below:
        return {**table, name: value}
    inner = table.get(name, {})
    filled = _filled(inner, below, value) if isinstance(inner, Mapping) else inner
    return {**table, name: filled}


def _is_value(values: Mapping[str, Any], path: KeyPath) -> bool:
    current: Any = values
    for part in path:
        if not isinstance(current, Mapping):
            return False
        current = current.get(str(part))
    return not isinstance(current, Mapping)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(old, value) if both else value  # type: ignore[arg-type]  # both says so
    return merged
