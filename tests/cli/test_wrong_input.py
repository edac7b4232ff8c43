"""What commands say to wrong input: what is wrong, what was probably meant, never a fault."""

import json
from typing import Any

import psycopg
import pytest

from leitstand.cli.main import run

BAD_BYTES = "x\udcff"
HUGE = "x" * 100_000


@pytest.fixture(autouse=True)
def place(conninfo: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory, a database of the test's own, and things in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)
    with psycopg.connect(conninfo) as connection:
        connection.execute("INSERT INTO job_groups (name) VALUES ('disk')")
        connection.execute(
            "INSERT INTO jobs (name, kind, trigger_type)"
            " VALUES ('nightly-sync', 'command', 'manual')"
        )


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> dict[str, str]:
    """The error document of a command that ends with ``code``, and no fault of ours."""
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    error: dict[str, str] = json.loads(shown.err)
    assert error["code"] != "INTERNAL", error
    assert error["remedy"] or error["code"] == "USAGE"
    return error


@pytest.mark.parametrize(
    "arguments",
    [
        ("job", "show"),
        ("job", "run"),
        ("job", "delete"),
        ("run", "list", "--job"),
        ("window", "delete"),
        ("window", "add", "w", "--from", "10:00", "--to", "11:00", "--reason"),
        ("server", "drain"),
        ("backup", "postgres", "verify"),
        ("drill", "run", "--generation"),
    ],
)
def test_no_text_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert "not UTF-8" in error_of(capsys, *arguments, BAD_BYTES, code=2)["message"]
    assert "NUL" in error_of(capsys, *arguments, "x\0", code=2)["message"]
    huge = error_of(capsys, *arguments, HUGE, code=2)["message"]
    assert "100000 characters" in huge
    assert len(huge) < 300


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("job", "show", "nightly-snyc"), 1, "Did you mean nightly-sync?"),
        (("job", "run", "nightlysync"), 1, "Did you mean nightly-sync?"),
        (("job", "show", "a\x1b[31m\nb"), 1, "See `leitstand job list`."),
        (("job", "show", "y" * 9000), 1, "See `leitstand job list`."),
        (("run", "list", "--job", "nightly"), 1, "leitstand job list"),
        (("run", "list", "--status", "failde"), 2, "Did you mean failed?"),
        (("run", "show", "99999999999999999999"), 2, "--help"),
        (("run", "cancel", "0"), 2, "--help"),
        (("run", "retry", "7"), 1, "leitstand run list"),
        (("group", "limit", "dsik", "2"), 1, "Did you mean disk?"),
        (("server", "drain", "nobody"), 1, "leitstand server list"),
        (("window", "delete", "nothing"), 1, "leitstand window list"),
        (("job", "why", "nightly-sync", "--at", "tomorrow"), 2, "2026-12-31T23:59:00Z"),
        (("job", "why", "nightly-sync", "--at", "0001-01-01T00:00+14:00"), 2, "2026-12-31"),
    ],
)
def test_wrong_names_and_numbers(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    error = error_of(capsys, *arguments, code=code)
    assert said in error["remedy"]
    assert len(error["message"]) < 200


def test_a_self_protection_job_is_deleted_only_when_protection_is_off(
    capsys: pytest.CaptureFixture[str], conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(conninfo) as connection:
        connection.execute(
            "INSERT INTO jobs (name, kind, trigger_type) VALUES ('self-drill', 'x', 'manual')"
        )
    refused = error_of(capsys, "job", "delete", "self-drill", code=1)
    assert refused["code"] == "CONFLICT"
    assert "leitstand job disable self-drill" in refused["remedy"]
    monkeypatch.setenv("LEITSTAND_PROTECTION__ENABLED", "false")
    assert run(["job", "delete", "self-drill"]) == 0


def test_secrets_of_a_job_are_shown_by_export_alone(
    capsys: pytest.CaptureFixture[str], conninfo: str
) -> None:
    """A file that is to apply needs them; that it holds them is said."""
    params = {"url": "https://h/", "headers": {"Accept": "*/*", "X-Auth-Token": "hush"}}
    with psycopg.connect(conninfo) as connection:
        connection.execute(
            "INSERT INTO jobs (name, kind, trigger_type, params)"
            " VALUES ('ping', 'http', 'manual', %s)",
            (json.dumps(params),),
        )
    for arguments in (("job", "show", "ping"), ("job", "list"), ("job", "enable", "ping")):
        for more in ((), ("--json",)):
            assert run([*arguments, *more]) == 0
            assert "hush" not in capsys.readouterr().out
    assert run(["export"]) == 0
    shown = capsys.readouterr()
    assert 'X-Auth-Token = "hush"' in shown.out
    assert "parameters of ping are values that look secret" in shown.err


def test_what_is_right_but_does_nothing_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    times = ("--from", "22:00", "--to", "04:00")
    assert (
        run(["window", "add", "w", *times, "--job", "nightly-snyc", "--job", "nightly-sync"]) == 0
    )
    warned = capsys.readouterr().err
    assert warned == (
        "Warning: no job is named 'nightly-snyc'. "
        "Did you mean nightly-sync? It counts once there is one.\n"
    )
    (tmp_path / "empty.toml").touch()
    assert run(["apply", "empty.toml"]) == 0
    assert "names no jobs, groups or windows" in capsys.readouterr().err


def test_files_that_cannot_be(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for file, said in (
        ("nowhere", "No such file"),
        (".", "Is a directory"),
        ("bytes", "not UTF-8"),
    ):
        assert said in error_of(capsys, "apply", file, code=1)["message"]
        assert said in error_of(capsys, "config", "check", "--config", file, code=1)["message"]
    error = error_of(capsys, "export", "nowhere/x", code=1)
    assert error["code"] == "EXPORT_FILE"


def test_every_wrong_setting_is_named_with_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEITSTAND_DATABASE__URL")
    file = tmp_path / "c.toml"
    file.write_text('loop.tick = "x"\nprotection.full = "x"\n')
    first = error_of(capsys, "config", "check", "--config", str(file), code=1)
    assert "There may be more to mend" in first["remedy"]
    file.write_text('protection.full = "x"\ndatabase.url = "host=h pasword=hush"\n')
    second = error_of(capsys, "config", "check", "--config", str(file), code=1)
    assert second["detail"].count("c.toml, line ") == 2
    assert "more to mend" not in second["remedy"]
    assert "hush" not in str(second)
    assert run(["job", "list", "--config", str(file)]) == 2
    assert "hush" not in capsys.readouterr().err
    assert run(["doctor", "--config", str(file)]) == 1
    shown = capsys.readouterr()
    assert "protection.full" in shown.out
    assert "hush" not in shown.out + shown.err


@pytest.mark.parametrize("name", ["a\udcff", "a\nb"])
def test_an_instance_that_is_no_text_is_a_wrong_setting(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LEITSTAND_SERVER__INSTANCE", name)
    error = error_of(capsys, "config", "check", code=1)
    assert "LEITSTAND_SERVER__INSTANCE: server.instance" in error["message"]


def test_a_user_name_that_is_no_text_is_kept_readable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "anna\udcff")
    assert run(["job", "run", "nightly-sync", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trigger"]["user"] == "anna\\udcff"
