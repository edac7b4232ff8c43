"""`make` says what is missing on a machine, and its files agree with each other."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def set_up(tmp_path: Path, python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts/environment", "requirements.lock"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": python},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("too_old", [False, True])
def test_a_python_that_is_missing_or_too_old_is_named(tmp_path: Path, too_old: bool) -> None:
    python = tmp_path / "python"
    if too_old:
        python.write_text("#!/bin/sh\nexit 1\n")  # the answer to whether it is new enough
        python.chmod(0o755)
    done = set_up(tmp_path, str(python))
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "apt-get install" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(("purpose", "code"), [("run", 0), ("test", 1)])
def test_programs_that_are_missing_are_named(tmp_path: Path, purpose: str, code: int) -> None:
    """A run goes without them, the tests do not."""
    for name in ("cut", "id", "sort", "tr"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run(
        ["/bin/sh", ROOT / "scripts/system-packages", purpose],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert "restic (backups of objects)" in done.stderr
    (command,) = [line for line in done.stderr.splitlines() if "apt-get install" in line]
    assert "restic" in command.split()


def test_help_lists_the_commands() -> None:
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    for command in ("run", "test", "lint", "bench", "schema", "clean", "help"):
        assert re.search(rf"^make {command} +\w", done.stdout, re.MULTILINE), command


def test_continuous_integration_runs_the_tests() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert "make test" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_the_lock_files_pin_every_dependency_with_hashes_and_without_an_index(name: str) -> None:
    text = (ROOT / name).read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = set(re.findall(r"^([a-z0-9.-]+)(?:\[[a-z,]+\])?==", text, re.MULTILINE))
    extras = project["optional-dependencies"]["dev"] if "dev" in name else []
    wanted = {
        re.split(r"[\[<>=~ ]", dependency)[0].lower().replace("_", "-")
        for dependency in [*project["dependencies"], *extras]
    }
    assert wanted <= pinned
    assert text.count("==") <= text.count("--hash=sha256:")
    assert "://" not in text
    assert "--index" not in text
