"""An installation in a directory of its own, used as people use it: by the commands."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.console import Ended, leitstand

SCRIPT = str(Path(sys.executable).parent / "leitstand")
PATIENCE = 120.0


@dataclass(frozen=True)
class Installation:
    """``leitstand`` in ``directory``, listening on ``port``."""

    directory: Path
    port: int

    @property
    def log(self) -> Path:
        """What its control servers say."""
        return self.directory / "serve.log"

    @property
    def environment(self) -> dict[str, str]:
        """What its commands get, beside nothing that says LEITSTAND."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("LEITSTAND")}
        return {**kept, "LEITSTAND_SERVER__LISTEN": f"127.0.0.1:{self.port}"}

    def run(self, *arguments: str, timeout: float = 120.0) -> Ended:
        """Run a command to its end."""
        return leitstand(arguments, self.directory, self.environment, timeout)

    def json(self, *arguments: str) -> Any:
        """Run a command that succeeds; its document."""
        ended = self.run(*arguments, "--json")
        assert ended.code == 0, ended
        assert ended.err == "", ended
        return ended.json

    def wait_for(self, look: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """What ``look`` returns once it is true."""
        until = time.monotonic() + patience
        while not (found := look()):
            assert time.monotonic() < until, self.run("run", "list").out
            time.sleep(0.3)
        return found

    @contextmanager
    def starting(self) -> Iterator["subprocess.Popen[str]"]:
        """The process of a control server, from its beginning until the block ends."""
        with (
            self.log.open("ab") as log,
            subprocess.Popen(
                [SCRIPT, "serve"],
                cwd=self.directory,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as process,
        ):
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                self.wait_for_end(process)

    def wait_for_end(self, process: "subprocess.Popen[str]", patience: float = 60.0) -> None:
        """Wait until a control server has ended; one that does not says why."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        assert process.returncode is not None, self.last_words()

    def must_end(
        self, process: "subprocess.Popen[str]", status: int = 0, patience: float = 60.0
    ) -> None:
        """Wait until a control server has ended with this exit status; another one is explained."""
        self.wait_for_end(process, patience)
        assert process.returncode == status, self.last_words()

    def last_words(self) -> str:
        """The end of what its control servers said."""
        return self.log.read_text()[-6000:]

    @contextmanager
    def serving(self) -> Iterator["Serving"]:
        """A control server that is ready, for as long as the block lasts."""
        with self.starting() as process:
            assert process.stdout is not None
            first = not (self.directory / "var").exists()
            ready = process.stdout.readline()
            yield Serving(process, ready, process.stdout.readline() if first else "")


@dataclass(frozen=True)
class Serving:
    """A control server's process, the line that said that it is ready, and how to log in then."""

    process: "subprocess.Popen[str]"
    ready: str
    login: str
