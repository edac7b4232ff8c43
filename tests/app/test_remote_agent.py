"""A control server and a remote agent as people use them: by the console script, step by step."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.app.installation import SCRIPT, Installation
from tests.ports import free_port

SERVER = """
[database]
url = "{database}"

[protection]
enabled = false

[loop]
heartbeat = "1s"

[[job]]
name = "count"
kind = "command"
runs_on = ["web1", "linux"]
params = {{ shell = "for n in 1 2 3; do echo $n; sleep 0.1; done" }}

[[job]]
name = "verify"
kind = "postgres-verify"
runs_on = ["web1"]
"""

AGENT = """
[agent]
servers = ["http://127.0.0.1:{port}"]
client_id = "{client_id}"
client_secret_file = "secret"
tags = ["linux"]

[backup.postgres]
url = "postgresql:///elsewhere"
"""


@contextmanager
def running(directory: Path) -> Iterator["subprocess.Popen[str]"]:
    """An agent for as long as the block lasts."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LEITSTAND")}
    with (
        (directory / "agent.log").open("ab") as log,
        subprocess.Popen(
            [SCRIPT, "agent"],
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def test_set_up_step_by_step(conninfo: str, short_dir: Path) -> None:
    """Registered, credential made, connected; runs in children and workers; locked out again."""
    place, machine = Installation(short_dir / "server", free_port()), short_dir / "machine"
    for directory in (place.directory, machine):
        directory.mkdir()
    (place.directory / "leitstand.toml").write_text(SERVER.format(database=conninfo))
    with place.serving():
        place.json("module", "register", "web1", "1.0")
        credential = place.run("module", "credential", "web1", "--json").json
        (machine / "secret").write_text(credential["secret"] + "\n")
        text = AGENT.format(port=place.port, client_id=credential["client_id"])
        (machine / "leitstand.toml").write_text(text)
        with running(machine) as agent:
            assert agent.stdout is not None
            kinds = "command, http, postgres-backup, postgres-rotate, postgres-verify"
            assert agent.stdout.readline() == f"Leitstand agent offers: {kinds}\n"
            (connected,) = place.wait_for(lambda: place.json("server", "list", "--agents"))
            run = place.json("job", "run", "count")
            assert place.run("run", "logs", str(run["id"]), "-f").out == "1\n2\n3\n"
            ended = place.json("run", "show", str(run["id"]))
            assert (ended["status"], ended["result"]["exit_code"]) == ("succeeded", 0)
            assert connected["instance"] == ended["owner"]
            verify = place.run("job", "run", "verify", "--wait", "--json").json
            assert verify["error_code"] == "NOT_FOUND", verify
            place.json("module", "credential", "--revoke", credential["client_id"])
            assert agent.wait(60) == 1
        assert (
            "refuses this agent: the credential is not valid" in (machine / "agent.log").read_text()
        )
