"""The entry point: finding commands, common options, errors and exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import leitstand.cli
from leitstand.cli.command_table import COMMANDS, CommandEntry
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.main import main, run
from leitstand.errors import LeitstandError, NotFoundError, UsageError

HEAVY = ("alembic", "fastapi", "psycopg", "pydantic", "rich", "sqlalchemy", "structlog", "uvicorn")

app = Commands("trial")


@app.command("add")
async def add(call: Invocation, a: int, b: int = 1) -> None:
    """Add two numbers."""
    call.output.show({"sum": a + b}, f"{a + b}")


@app.command("partial")
def partial(call: Invocation, say: bool = False) -> ExitCode:
    """Do half of it."""
    if say:
        call.output.show({}, "half")
    return ExitCode.PARTIAL


@app.command("much")
def much(call: Invocation) -> None:
    """Say more than a pipe takes."""
    call.output.show([], "x" * 200_000)


@app.command("stream")
def stream(call: Invocation) -> None:
    """Say more than a pipe takes, in pieces."""
    call.output.lines("x" * 100 for _ in range(2000))


@app.command("write")
def write(call: Invocation, file: Path) -> None:
    """Write to a file the number that it is open as."""
    with file.open("w") as target:
        target.write(str(target.fileno()))
        call.output.show({}, "written")


@app.command("fail")
def fail(call: Invocation, kind: str) -> None:
    """Fail in a given way."""
    raise {
        "usage": UsageError("no sense"),
        "missing": NotFoundError("no job x", detail="two\nlines", remedy="Look."),
        "password": LeitstandError("no way to postgresql://u:hidden@h/d"),
        "fault": ZeroDivisionError("by zero"),
        "interrupt": KeyboardInterrupt(),
    }[kind]


@pytest.fixture(autouse=True)
def trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The commands above beside the real ones, in a directory without configuration."""
    monkeypatch.chdir(tmp_path)
    entry = CommandEntry(__name__, "For this test.")
    monkeypatch.setattr("leitstand.cli.main.COMMANDS", {**COMMANDS, "trial": entry})
    yield


def leitstand_process(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    program = f"from leitstand.cli.main import main\ntry: main()\nfinally:\n {code or 'pass'}"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "LANG": "C.UTF-8"},
    )


def test_help_lists_every_command_without_loading_what_they_need() -> None:
    """How fast `leitstand --help` answers is a matter of what it does not import."""
    code = f"import sys; print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    done = leitstand_process("--help", code=code)
    assert done.returncode == 0
    assert done.stderr.strip() == ""
    for name, entry in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert entry.summary in " ".join(done.stdout.split())


def test_the_table_of_commands_is_that_of_the_modules() -> None:
    files = Path(leitstand.cli.__file__).parent.glob("*.py")
    with_commands = {file.stem for file in files if "\napp = Commands(" in file.read_text()}
    assert {entry.module for entry in COMMANDS.values()} == {
        f"leitstand.cli.{name}" for name in with_commands
    }
    for name, entry in COMMANDS.items():
        own_name, summary = name_and_summary(import_module(entry.module).app)
        assert own_name == name
        assert summary.startswith(entry.summary.removesuffix("."))


def name_and_summary(app: Commands) -> tuple[str, str]:
    """What a module says of itself: its group's, or those of its only command."""
    if isinstance(app.info.name, str):
        return app.info.name, str(app.info.help)
    (command,) = app.registered_commands
    assert command.callback is not None
    return str(command.name), str(command.callback.__doc__).split("\n")[0]


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) is ExitCode.DONE
    assert "Commands:" in capsys.readouterr().out


def test_each_command_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trial", "add", "--help"]) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert "Add two numbers." in shown
    assert "--config" in shown
    assert "--json" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json", "trial", "add", "2"],
        ["trial", "add", "2", "--json"],
        ["trial", "add", "--json", "2"],
    ],
)
def test_json_is_accepted_before_and_after_the_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(arguments) is ExitCode.DONE
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"sum": 3}
    assert shown.err == ""


def test_people_get_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trial", "add", "2", "--b", "3"]) is ExitCode.DONE
    assert capsys.readouterr().out == "5\n"


def test_config_is_accepted_before_and_after_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, seconds in (("one", 1), ("two", 2)):
        (tmp_path / name).write_text(f"loop.tick = {seconds}")
    for arguments, tick in (
        (["--config", "one", "config", "check"], 1.0),
        (["config", "check", "--config", "two"], 2.0),
        (["--config", "one", "config", "check", "--config=two"], 2.0),
    ):
        assert run([*arguments, "--json"]) is ExitCode.DONE
        settings = json.loads(capsys.readouterr().out)["settings"]
        assert [s["value"] for s in settings if s["key"] == "loop.tick"] == [tick]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["trial", "partial"], 3),
        (["trial", "fail", "missing"], 1),
        (["trial", "fail", "fault"], 1),
        (["trial", "fail", "usage"], 2),
        (["trial", "fail", "interrupt"], 130),
        (["trial", "add"], 2),
        (["trial", "add", "x"], 2),
        (["trial", "add", "1", "--nothing"], 2),
        (["trial"], 2),
        (["nothing"], 2),
        (["--nothing"], 2),
        (["config", "check", "--config", "gone"], 1),
    ],
)
def test_exit_codes(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int) -> None:
    assert run(arguments) == code
    assert capsys.readouterr().out == ""


def test_an_error_is_said_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    run(["trial", "fail", "missing"])
    assert capsys.readouterr().err == "Error [NOT_FOUND]: no job x\n  two\n  lines\nLook.\n"


def test_with_json_an_error_is_one_document_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["trial", "fail", "missing", "--json"])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert json.loads(shown.err) == {
        "code": "NOT_FOUND",
        "message": "no job x",
        "detail": "two\nlines",
        "remedy": "Look.",
    }


def test_wrong_usage_names_the_help_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    run(["trial", "add", "--json"])
    error = json.loads(capsys.readouterr().err)
    assert error["code"] == "USAGE"
    assert error["remedy"] == "See `leitstand trial add --help`."


def test_no_password_gets_into_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    run(["trial", "fail", "password"])
    assert "postgresql://u:***@h/d" in capsys.readouterr().err


def test_a_fault_shows_its_traceback_only_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["trial", "fail", "fault"])
    short = capsys.readouterr().err
    assert "unexpected ZeroDivisionError: by zero" in short
    assert "Traceback" not in short
    monkeypatch.setenv("LEITSTAND_DEBUG", "1")
    run(["trial", "fail", "fault"])
    assert "Traceback" in capsys.readouterr().err


def in_shell(words: str, redirected: str) -> tuple[int, str]:
    """Exit code and standard error of the console script in a shell, with redirections."""
    program = f"{sys.executable} -c 'from tests.cli.test_main import shell_main; shell_main()'"
    done = subprocess.run(
        ["bash", "-c", f"{program} {words} {redirected}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return done.returncode, done.stderr


def shell_main() -> None:
    """The entry point with the commands above."""
    entry = CommandEntry("tests.cli.test_main", "For this test.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leitstand.cli.main.COMMANDS", {**COMMANDS, "trial": entry})
        main()


@pytest.mark.parametrize("words", ["trial much", "trial stream", "--help"])
def test_a_reader_that_has_seen_enough_is_no_fault(words: str) -> None:
    code, said = in_shell(words, "| true")
    assert said == ""
    assert code in {0, 1}, "1 if Typer noticed it while writing its help"


@pytest.mark.parametrize("words", ["trial stream", "--help", "trial add 1 --json"])
def test_a_closed_standard_output_is_not_wanted(words: str) -> None:
    assert in_shell(words, ">&- 2>&-") == (0, "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("trial much", 4, "has ended (done)"),
        ("trial stream", 4, "has ended (done)"),
        ("--help", 4, "has ended (done)"),
        ("trial partial", 3, ""),
        ("trial partial --say", 3, "has ended (partial)"),
    ],
)
def test_work_that_is_done_and_words_that_are_lost_are_told_apart(
    words: str, code: int, said: str
) -> None:
    ended, shown = in_shell(words, ">/dev/full")
    assert ended == code
    if said:
        assert shown.startswith("Error [OUTPUT]: the command")
        assert "No space left on device" in shown
    assert said in shown
    assert "Traceback" not in shown


def test_with_json_lost_words_are_one_document() -> None:
    code, shown = in_shell("trial add 1 --json", ">/dev/full")
    assert code == 4
    assert json.loads(shown)["code"] == "OUTPUT"


def test_an_error_that_nobody_can_be_told_keeps_its_code() -> None:
    assert in_shell("trial fail missing", "2>/dev/full") == (1, "")
    assert in_shell("trial fail usage", "2>&- >&-") == (2, "")


def test_a_file_never_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """Or what is printed would go into it."""
    code, _ = in_shell(f"trial write {tmp_path}/file", ">&- 2>&- <&-")
    assert code == 0
    assert int((tmp_path / "file").read_text()) > 2
