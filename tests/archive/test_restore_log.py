"""One line for each restore, however it ended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leitstand.archive.restore_log import RestoreLogError, logged_restore
from leitstand.archive.restore_target import TargetRefusedError
from leitstand.errors import LeitstandError
from leitstand.execution import Interrupted
from tests.execution.processes import at_default


def results(log: Path) -> list[str]:
    return [json.loads(line)["result"] for line in log.read_text().splitlines()]


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (TargetRefusedError("not empty"), "aborted: not empty"),
        (LeitstandError("two\nlines password=geheim"), "failed: two lines password=***"),
        (KeyboardInterrupt(), "aborted: KeyboardInterrupt"),
        (OSError(28, "No space left"), "failed: OSError: [Errno 28] No space left"),
    ],
)
def test_an_exception_passes_and_leaves_its_line(
    tmp_path: Path, error: BaseException, result: str
) -> None:
    log = tmp_path / "logs" / "restore.jsonl"
    with logged_restore(log, "database", "G", tmp_path / "t"):
        pass
    with pytest.raises(type(error)), logged_restore(log, "database", "G", tmp_path / "t"):
        raise error
    assert results(log) == ["ok", result]
    line = json.loads(log.read_text().splitlines()[0])
    assert list(line) == ["timestamp", "kind", "source", "target", "result"]


def test_a_termination_leaves_its_line(tmp_path: Path) -> None:
    former = signal.getsignal(signal.SIGTERM)
    with (
        pytest.raises(Interrupted),
        logged_restore(tmp_path / "log", "database", "G", tmp_path),
    ):
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    assert results(tmp_path / "log") == ["aborted: terminated by SIGTERM"]
    assert signal.getsignal(signal.SIGTERM) == former


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_nothing_interrupts_once_there_is_no_return(tmp_path: Path, number: signal.Signals) -> None:
    former = signal.getsignal(number)
    with logged_restore(tmp_path / "log", "database", "G", tmp_path) as interruptions:
        interruptions.no_return()
        os.kill(os.getpid(), number)
    assert results(tmp_path / "log") == ["ok"]
    assert signal.getsignal(number) == former


def test_a_terminal_that_is_closed_leaves_its_line(tmp_path: Path) -> None:
    with (
        at_default(signal.SIGHUP),
        pytest.raises(Interrupted),
        logged_restore(tmp_path / "log", "database", "G", tmp_path),
    ):
        os.kill(os.getpid(), signal.SIGHUP)
        signal.pause()
    assert results(tmp_path / "log") == ["aborted: terminated by SIGHUP"]


def test_without_a_log_nothing_is_restored(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RestoreLogError, match="cannot be opened"),
        logged_restore(tmp_path / "file" / "log", "database", "G", tmp_path),
    ):
        pytest.fail("the restore began")


def test_a_line_that_finds_no_room_is_told(tmp_path: Path) -> None:
    """What went wrong with the restore itself goes first."""
    with (
        pytest.raises(RestoreLogError, match="was restored, but"),
        logged_restore(Path("/dev/full"), "database", "G", tmp_path),
    ):
        pass
    with (
        pytest.raises(TargetRefusedError),
        logged_restore(Path("/dev/full"), "database", "G", tmp_path),
    ):
        raise TargetRefusedError("not empty")


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"timestamp": "20')
    with logged_restore(tmp_path / "log", "database", "G", tmp_path):
        pass
    assert json.loads((tmp_path / "log").read_text().splitlines()[1])["result"] == "ok"


def test_a_program_that_is_terminated_leaves_its_line(tmp_path: Path) -> None:
    script = (
        "import signal, sys\nfrom pathlib import Path\n"
        "from leitstand.archive.restore_log import logged_restore\n"
        "with logged_restore(Path(sys.argv[1]), 'database', 'G', Path('/t')):\n"
        "    print('ready', flush=True)\n    signal.pause()"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / "log")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.terminate()
    assert program.returncode == 128 + signal.SIGTERM
    assert results(tmp_path / "log") == ["aborted: terminated by SIGTERM"]
