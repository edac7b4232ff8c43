"""`apply`, `export` and `group` as people use them."""

import json
from pathlib import Path
from typing import Any

import pytest

from leitstand.cli.exit_code import ExitCode
from leitstand.cli.main import run

EXAMPLE = Path(__file__).parents[2] / "examples/jobs.toml"


@pytest.fixture(autouse=True)
def place(conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory, and a database of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command says to people."""
    capsys.readouterr()
    assert run(list(arguments)) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_the_example_applies_and_what_is_exported_changes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, "apply", str(EXAMPLE), "--dry-run")
    assert "+ job sync-mirror\n" in shown
    assert shown.endswith("7 created, 0 changed, 0 unchanged, 0 removed. Nothing was written.\n")
    assert document(capsys, "job", "list") == []
    said(capsys, "apply", str(EXAMPLE))
    assert {job["managed"] for job in document(capsys, "job", "list")} == {True}
    said(capsys, "export", "all.toml")
    assert (place / "all.toml").stat().st_mode & 0o777 == 0o600
    assert document(capsys, "apply", "all.toml", "--dry-run")["counts"]["unchanged"] == 7
    assert document(capsys, "apply", str(EXAMPLE))["counts"]["unchanged"] == 7
    assert said(capsys, "export") == (place / "all.toml").read_text()
    assert "all.toml exists" in said(capsys, "export", "all.toml", code=ExitCode.FAILURE)
    said(capsys, "export", "all.toml", "--force")


def test_the_difference_is_readable(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = place / "jobs.toml"
    head = '[[job]]\nkind = "command"\nparams = { argv = ["x"] }\n'
    file.write_text(f'{head}name = "y"\nschedule = "0 2 * * *"\n{head}name = "z"\n')
    said(capsys, "apply", "jobs.toml")
    file.write_text(f'{head}name = "y"\nschedule = "0 3 * * *"\ntimeout = 90\n{head}name = "x"\n')
    assert said(capsys, "apply", "jobs.toml", "--prune").splitlines() == [
        "+ job x",
        '~ job y: schedule "0 2 * * *" -> "0 3 * * *"',
        '~ job y: timeout (none) -> "1m30s"',
        "- job z",
        "1 created, 1 changed, 0 unchanged, 1 removed.",
    ]
    changes = document(capsys, "apply", "jobs.toml")["changes"]
    assert [(change["name"], change["action"]) for change in changes] == [
        ("x", "unchanged"),
        ("y", "unchanged"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[jobs]]\nname = 1", "jobs.toml, line 1: unknown key jobs; did you mean job?"),
        ("name = [", "jobs.toml: not valid TOML"),
        ('[[job]]\nname = "a"\nknd = "x"', 'jobs.toml, line 3: job "a": unknown key knd'),
        (
            '[[job]]\nname = "self-full"\nkind = "command"\nparams.argv = ["x"]',
            'jobs.toml, line 1: job "self-full": name: it is Leitstand\'s own job',
        ),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(
    place: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    (place / "jobs.toml").write_text(text)
    assert problem in said(capsys, "apply", "jobs.toml", code=ExitCode.FAILURE)
    assert "cannot be read" in said(capsys, "apply", "missing.toml", code=ExitCode.FAILURE)


def test_the_configuration_files_own_jobs_are_changed_there(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = '[[job]]\nname = "a"\nkind = "command"\nparams = { argv = ["x"] }\n'
    (place / "leitstand.toml").write_text(f"[loop]\ntick = 5\n{job}")
    said(capsys, "apply", "leitstand.toml")
    (place / "other.toml").write_text(f"{job}priority = 5\n")
    refused = said(capsys, "apply", "other.toml", code=ExitCode.FAILURE)
    assert "leitstand.toml lists it, too, and differs; change it there" in refused
    (place / "other.toml").write_text("")
    assert document(capsys, "apply", "other.toml", "--prune")["counts"]["removed"] == 0
    said(capsys, "export", "all.toml")
    assert document(capsys, "apply", "all.toml")["counts"]["unchanged"] == 1


def test_groups_are_listed_and_limited(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no group is named 'mirror'" in said(capsys, "group", "limit", "mirror", "3", code=1)
    said(capsys, "apply", str(EXAMPLE))
    assert document(capsys, "group", "limit", "mirror", "3")["limit"] == 3
    assert document(capsys, "group", "list") == [
        {"name": "mirror", "limit": 3, "running": 0, "waiting": 0}
    ]
    assert said(capsys, "group", "limit", "mirror", "0", code=ExitCode.USAGE)
