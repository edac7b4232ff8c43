"""The example package with a kind of its own, installed and run as its README says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.installation import Installation
from tests.ports import free_port

ROOT = Path(__file__).parents[2]

CONFIGURATION = """
[database]
url = "{database}"

[protection]
enabled = false

[[group]]
name = "greetings"
limit = 1

[[job]]
name = "greet"
kind = "greeting"
group = "greetings"
params = {{ names = ["Ada", "", "Grace"], file = "{file}" }}
"""


@pytest.fixture
def installed(short_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package in a directory that every process of this test finds."""
    source, target = short_dir / "source", short_dir / "site"
    shutil.copytree(ROOT / "examples/leitstand-greeting", source)
    uv = Path(sys.executable).parent / "uv"
    options = ["--no-deps", "--no-build-isolation", "--offline", "--no-cache", "--quiet"]
    into = ["--python", sys.executable, "--target", str(target)]
    subprocess.run([uv, "pip", "install", *options, *into, str(source)], check=True, timeout=120)
    monkeypatch.setenv("PYTHONPATH", str(target))


@pytest.mark.usefixtures("installed")
def test_a_job_of_a_third_party_kind_runs_in_a_worker(short_dir: Path, conninfo: str) -> None:
    """The configuration file's jobs are there when the server is, and a wrong one stops it."""
    directory = short_dir / "place"
    directory.mkdir()
    place = Installation(directory, free_port())
    file = directory / "greetings.txt"
    configuration = directory / "leitstand.toml"
    configuration.write_text(CONFIGURATION.format(database=conninfo, file="greetings.txt"))
    refused = place.run("serve")
    assert refused.code == 1
    assert 'leitstand.toml, line 12: job "greet": params.file: must be an absolute' in refused.err
    configuration.write_text(CONFIGURATION.format(database=conninfo, file=file))
    with place.serving() as server:
        assert server.ready.startswith("Leitstand is ready: ")
        ended = place.run("job", "run", "greet", "--wait", "--json")
        assert ended.code == 3, ended  # one name is empty
        assert file.read_text() == "Hello, Ada!\nHello, Grace!\n"
        job = place.json("job", "show", "greet")
        assert (job["managed"], job["group"]) == (True, "greetings")
        log = place.run("run", "logs", str(ended.json["id"])).out
        assert f"attempt 1 of greet wrote {file}" in log
    assert "job created by the configuration file" in (directory / "serve.log").read_text()
