"""The product as a stranger meets it: ``serve`` in an empty directory, and every command beside."""

import asyncio
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from leitstand.app.control import open_control
from leitstand.jobs import JobSpec
from leitstand.settings import load_settings
from leitstand.store.account import server_account
from leitstand.store.cluster import Cluster
from leitstand.store.embedded import embedded_server
from leitstand.store.reachable import reachable_binaries
from tests.app.installation import Installation
from tests.conftest import make_short_dir
from tests.metrics.promtool import promtool_says
from tests.ports import free_port

OPTIONS = {"listen_addresses": "", "fsync": "off"}


@pytest.fixture(scope="module")
def place() -> Iterator[Installation]:
    """An empty directory."""
    directory = make_short_dir()
    yield Installation(directory, free_port())
    rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def served(place: Installation) -> Iterator[Installation]:
    """The same with a control server, which has done its first backup and drill."""
    with place.serving() as server:
        assert server.ready == f"Leitstand is ready: http://127.0.0.1:{place.port}/\n"
        assert "self-full" in page_after_login(server.login.partition("hour): ")[2].strip())
        place.wait_for(lambda: succeeded(place) >= {"postgres-backup", "restore-drill"})
        place.wait_for(lambda: succeeded(place) >= {"postgres-verify", "checker-selftest"})
        asyncio.run(save_nap(place))
        yield place


def succeeded(place: Installation) -> set[str]:
    runs = place.json("run", "list", "--status", "succeeded")
    return {run["kind"] for run in runs}


async def save_nap(place: Installation) -> None:
    """A job that waits until it is told to end."""
    environment = {"LEITSTAND_SERVER__DATA_DIR": str(place.directory / "var")}
    async with open_control(load_settings(environ=environment)) as control:
        script = "echo going; trap 'echo ending; exit 1' TERM; while :; do sleep 0.1; done"
        params: dict[str, Any] = {"argv": ["/bin/sh", "-c", script]}
        await control.jobs.save(JobSpec(name="nap", kind="command", params=params))
        params = {"argv": ["/bin/echo", "<b>said</b>"]}
        await control.jobs.save(JobSpec(name="say", kind="command", params=params))


def page_after_login(link: str) -> str:
    """What a browser shows that opens the link."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link, timeout=20) as answer:
        return str(answer.read().decode())


def fetch(place: Installation, path: str, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{place.port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(answer.read().decode())


def test_the_drill_is_on_record(served: Installation) -> None:
    (drill, *_) = served.json("drill", "history")
    assert drill["success"] is True
    assert drill["recovery_time"] > 0
    assert drill["recovery_point_age"] > 0
    (generation, *_) = served.json("backup", "postgres", "list")
    assert generation["state"] == "complete"
    assert generation["verified_at"] is not None
    assert generation["drilled_at"] is not None


def test_everything_is_proven(served: Installation) -> None:
    """A fresh installation is clean as soon as its first jobs have run."""
    proof = served.run("proof", "--json")
    assert proof.code == 0, proof.out
    assert [section["clean"] for section in proof.json["sections"]] == [True] * 8
    (drill, *_) = served.json("drill", "history")
    assert drill["canaries"]["returned"] == drill["canaries"]["expected"] > 0
    saved = served.directory / "proof.json"
    saved.write_text(proof.out)
    assert served.run("proof", "--check", str(saved)).code == 0
    saved.write_text(proof.out.replace('"clean": true', '"clean": false', 1))
    changed = served.run("proof", "--check", str(saved))
    assert (changed.code, "it was changed" in changed.out) == (1, True)


def test_each_planted_fault_is_in_the_proof_and_nothing_else(served: Installation) -> None:
    """The report tells what reconcile and scrub have found, until the demonstration is gone."""
    planted = served.json("demo", "archive")["planted"]
    never = served.run("proof", "--demo", "--json").json["sections"]
    assert [section["findings"][0]["problem"] for section in never] == [
        "nobody has ever looked"
    ] * 2
    assert served.run("reconcile").code == served.run("scrub", "--sample", "100").code == 1
    assert served.run("scrub", "--sample", "100").code == 0  # all within the cool-down
    for option in ([], ["--demo"]):
        proof = served.run("proof", *option, "--json")
        assert proof.code == 1
        found = {section["name"]: section["findings"] for section in proof.json["sections"]}
        subjects = {name: [each["subject"] for each in found[name]] for name in found}
        assert subjects.pop("reconcile") == planted["missing"] + planted["orphaned"]
        assert subjects.pop("scrub") == planted["corrupted"]
        assert not any(subjects.values())
    assert "91.67 % read in the last 30 days, 2 never" in served.run("proof", "--demo").out
    token = served.run("token", "create", "reader", "--role", "viewer").out.strip()
    page = fetch(served, "/", token)
    assert f"{planted['missing'][0]}: a row names it" in page
    assert "2 found" in page
    assert served.json("demo", "archive", "--remove") == {"removed": True}
    assert served.run("proof").code == 0
    assert "NOT_FOUND" in served.run("proof", "--demo").err


def test_http(served: Installation) -> None:
    assert '"alive"' in fetch(served, "/livez")
    assert '"ready"' in fetch(served, "/readyz")
    token = served.run("token", "create", "test", "--role", "viewer").out.strip()
    assert "self-full" in fetch(served, "/", token)
    assert "self-full" in fetch(served, "/api/v1/jobs", token)
    assert "self-full" in page_after_login(served.run("token", "login").out.strip())
    metrics = fetch(served, "/metrics")
    assert promtool_says(metrics.encode()) == ""
    families = {f.name: f for f in text_string_to_metric_families(metrics)}
    assert families["restore_drill_last_success"].samples[0].labels == {"kind": "database"}
    assert families["restore_drill_last_success"].samples[0].value == 1
    up = families["leitstand_core_source_up"].samples
    assert {s.labels["source"] for s in up if s.value == 1} >= {"drills", "backups"}
    assert served.run("health", "live").code == 0
    assert served.json("health", "ready")["status"] == "ready"


def test_jobs(served: Installation) -> None:
    names = [job["name"] for job in served.json("job", "list")]
    assert {"self-full", "self-incremental", "self-drill"} <= set(names)
    assert served.json("job", "show", "self-full")["trigger"]["type"] == "cron"
    assert len(served.json("job", "next", "self-full", "-n", "3")) == 3
    assert served.json("job", "disable", "say")["enabled"] is False
    assert "disabled" in served.run("job", "why", "say").out
    assert served.json("job", "enable", "say")["enabled"] is True
    said = served.json("job", "run", "say", "--wait")
    assert said["status"] == "succeeded"
    assert served.run("run", "logs", str(said["id"])).out.strip() == "<b>said</b>"
    assert served.json("run", "show", str(said["id"]))["attempt"] == 1
    refused = served.run("run", "retry", str(said["id"]))
    assert "To do the work once more: leitstand job run say" in refused.err


def test_a_run_is_cancelled(served: Installation) -> None:
    run = served.json("job", "run", "nap")
    number = str(run["id"])
    served.wait_for(lambda: "going" in served.run("run", "logs", number).out)
    served.json("run", "cancel", number)
    served.wait_for(lambda: served.json("run", "show", number)["finished_at"])
    ended = served.json("run", "show", number)
    assert ended["status"] == "cancelled"
    assert "ending" in served.run("run", "logs", number, "-f").out
    assert "has ended already: cancelled" in served.run("run", "cancel", number).err
    again = served.json("run", "retry", number)
    assert (again["attempt"], again["job"]) == (2, "nap")
    served.json("run", "cancel", str(again["id"]))
    served.wait_for(lambda: served.json("run", "show", str(again["id"]))["finished_at"])


def test_errors(served: Installation) -> None:
    wrong = served.run("job", "show", "nothing", "--json")
    assert (wrong.code, wrong.out) == (1, "")
    assert '"NOT_FOUND"' in wrong.err
    assert served.run("job", "fly").code == 2
    assert served.run("run", "list", "--status", "odd").code == 2
    assert served.run("run", "show", "999999").err.startswith("Error [NOT_FOUND]: ")


def test_nothing_is_wrong(served: Installation) -> None:
    findings = served.json("doctor")
    assert [finding["name"] for finding in findings if not finding["ok"]] == []
    assert {finding["name"] for finding in findings} >= {"control server", "backup source"}


def test_increments_come_back(served: Installation) -> None:
    """A full backup and three increments with changes between them."""
    for number in range(4):
        asyncio.run(write(served, number))
        mode = "incremental" if number else "full"
        assert served.json("backup", "postgres", mode)["kind"] == mode
    refused = served.directory / "refused"
    refused.mkdir()
    (refused / "mine").write_text("mine")
    no = served.run("restore", "database", "newest", str(refused))
    assert no.code == 1
    assert "--force" in no.err
    assert [path.name for path in refused.iterdir()] == ["mine"]
    target = served.directory / "restored"
    made = served.json("restore", "database", "newest", str(target))
    assert made["target"] == str(target)
    assert rounds(target, served.directory) == [0, 1, 2, 3]
    log = (served.directory / "var" / "restore-log.jsonl").read_text().splitlines()
    assert ['"aborted: ' in log[0], '"result": "ok"' in log[1], len(log)] == [True, True, 2]


async def write(place: Installation, number: int) -> None:
    async with embedded_server(place.directory / "var") as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS round (number int)")
            connection.execute("INSERT INTO round VALUES (%s)", [number])


def rounds(data: Path, top: Path) -> list[int]:
    """What a server that is started on ``data`` answers."""
    account = server_account()
    cluster = Cluster(data, reachable_binaries(account), account)
    socket_dir = top / "s"
    socket_dir.mkdir(mode=0o700)
    account.own(socket_dir)
    hba = top / "hba.conf"
    hba.write_text("local all all trust\n")
    cluster.start(socket_dir, top / "restored.log", {**OPTIONS, "hba_file": str(hba)})
    try:
        with psycopg.connect(cluster.conninfo(socket_dir, "leitstand")) as connection:
            return [row[0] for row in connection.execute("SELECT number FROM round ORDER BY 1")]
    finally:
        cluster.stop()


def test_draining(served: Installation) -> None:
    (server,) = served.json("server", "list")
    assert server["draining"] is False
    assert served.json("server", "drain")["draining"] == [server["instance"]]
    assert served.json("server", "list")[0]["draining"] is True


def test_help_and_usage(place: Installation) -> None:
    assert place.run("--help").code == 0
    assert place.run("fly").code == 2
    assert place.run("job", "show").code == 2
