"""A directory of its own for each test, and files in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leitstand.settings import LoadedSettings, SettingsError, load_settings, sources

Load = Callable[..., LoadedSettings]
Problems = Callable[..., tuple[str, ...]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, empty; the machine's own /etc/leitstand does not exist."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "etc/leitstand.toml")
    return tmp_path


@pytest.fixture
def load(here: Path) -> Load:
    """Load settings from the text of ./leitstand.toml and from variables."""

    def load_text(text: str = "", **environ: str) -> LoadedSettings:
        (here / "leitstand.toml").write_text(text)
        return load_settings(environ=environ)

    return load_text


@pytest.fixture
def problems(load: Load) -> Problems:
    """What is wrong with a configuration."""

    def problems_of(text: str = "", **environ: str) -> tuple[str, ...]:
        with pytest.raises(SettingsError) as caught:
            load(text, **environ)
        return caught.value.problems

    return problems_of
