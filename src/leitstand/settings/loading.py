"""Loads the configuration: the file, the environment over it, and where each value came from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr, ValidationError

from leitstand.address import shown_address
from leitstand.masking import MASK, mask_value
from leitstand.settings.keys import KeyPath, dotted, leaves, value_at
from leitstand.settings.layer import Layer
from leitstand.settings.problems import SettingsError, describe
from leitstand.settings.root import Settings
from leitstand.settings.sections import SecretUrl, Section
from leitstand.settings.sources import find_file, read_environment, read_file


@dataclass(frozen=True)
class LoadedSettings:
    """The settings in effect; ``origins`` maps a dotted key to where its value was given.

    Keys that nobody gave are not in ``origins``. ``file`` is the file that was read, if any.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None


@dataclass(frozen=True)
class SettingEntry:
    """One setting in effect, as it may be shown: secrets are masked."""

    key: str
    value: object
    origin: str


def load_settings(
    config: Path | None = None, environ: Mapping[str, str] = os.environ
) -> LoadedSettings:
    """The configuration from the file, if there is one, with the environment's values over it.

    The file is the first found of ``config``, ``$LEITSTAND_CONFIG``, ``./leitstand.toml`` and
    ``/etc/leitstand/leitstand.toml``; one of the first two that is missing is an error. Raises
    SettingsError with everything that is wrong in both sources.
    """
    file, named_by = find_file(config, environ)
    from_file = read_file(file, named_by) if file else Layer()
    from_environment = read_environment(environ, Settings)
    for layer in (from_file, from_environment):
        layer.read_secret_files(Settings)
    layer = from_environment.over(from_file)
    settings, problems = _validated(layer)
    if settings is None or problems:
        raise SettingsError(tuple(problems), unfinished=settings is None)
    return LoadedSettings(settings, _origins(settings, layer), file)


def _validated(layer: Layer) -> tuple[Settings | None, list[str]]:
    try:
        return Settings.model_validate(layer.values), layer.problems
    except ValidationError as error:
        return None, [*layer.problems, *describe(error, layer, Settings)]


def _origins(settings: Settings, layer: Layer) -> dict[str, str]:
    given = ((path, layer.origin(path)) for path in _shown_paths(settings))
    return {
        dotted(path): origin
        for path, origin in given
        if origin is not None and value_at(layer.values, path) is not None
    }


def _shown_paths(settings: Settings) -> list[KeyPath]:
    paths: list[KeyPath] = []
    for path, _ in leaves(Settings):
        value = _value(settings, path)
        indexes = range(len(value)) if isinstance(value, tuple) else ()
        paths += [(*path, index) for index in indexes] or [path]
    return paths


def _value(settings: Settings, path: KeyPath) -> object:
    current: object = settings
    for part in path:
        if isinstance(part, int) and isinstance(current, tuple):
            current = current[part]
        else:
            current = getattr(current, str(part))
    return current


def effective_configuration(loaded: LoadedSettings) -> list[SettingEntry]:
    """Every setting in effect, in the order of the documentation, with secrets masked."""
    entries = []
    for path in _shown_paths(loaded.settings):
        key = dotted(path)
        value = _displayed(str(path[-1]), _value(loaded.settings, path))
        entries.append(SettingEntry(key, value, loaded.origins.get(key, "default")))
    return entries


def _displayed(name: str, value: object) -> object:
    if isinstance(value, SecretUrl):
        return shown_address(value.get_secret_value())
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if isinstance(value, Section):
        return {key: _displayed(key, getattr(value, key)) for key in type(value).model_fields}
    if isinstance(value, Path):
        return str(value)
    return mask_value(name, value)
