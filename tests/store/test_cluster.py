"""A server on a data directory: started, told apart, stopped, never left as a zombie."""

import gc
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from leitstand.store.account import server_account
from leitstand.store.binaries import Binaries, ProgramsMissingError, embedded_binaries
from leitstand.store.cluster import Cluster, ClusterError, NoSuchDatabaseError, Sign
from tests.conftest import temporary_short_dir
from tests.store.embedded_scene import hanging, wait_until

FAST = {"listen_addresses": "", "fsync": "off"}


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A directory with a cluster in ``data`` and room for a socket in ``s``."""
    with temporary_short_dir() as directory:
        account = server_account()
        for name in ("data", "s"):
            (directory / name).mkdir(mode=0o700)
            account.own(directory / name)
        cluster = Cluster(directory / "data", embedded_binaries(), account)
        assert not cluster.initialised()
        cluster.initialise({"timezone": "Europe/Berlin"})
        (directory / "data/pg_hba.conf").write_text("local all all trust\n")
        yield directory
        assert not cluster.stop(), "a server was left running"


@pytest.fixture
def cluster(home: Path) -> Cluster:
    """The cluster, which does not run; whoever starts it stops it."""
    return Cluster(home / "data", embedded_binaries(), server_account())


def test_it_starts_and_stops_without_a_trace(
    cluster: Cluster, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever PostgreSQL's variables say in our environment."""
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGDATA", "/nonexistent")
    assert cluster.initialised()
    assert cluster.running_pid() is None
    pid = cluster.start(home / "s", home / "log", FAST)
    gc.collect()  # a Popen that is dropped must not warn
    assert cluster.running_pid() == pid
    assert cluster.answers(home / "s")
    with psycopg.connect(cluster.conninfo(home / "s")) as connection:
        assert connection.execute("SHOW timezone").fetchone() == ("Europe/Berlin",)
    assert (home / "log").stat().st_mode & 0o077 == 0
    assert cluster.stop()
    assert not cluster.stop()
    assert not Path(f"/proc/{pid}").exists()
    assert not cluster.answers(home / "s")


def test_asking_a_server_that_hangs_holds_up_no_thread(cluster: Cluster, home: Path) -> None:
    """A heartbeat that stood still meanwhile would cost its server all runs."""
    cluster.start(home / "s", home / "log", FAST)
    with hanging(cluster), ThreadPoolExecutor() as pool:
        asked = pool.submit(cluster.ask, home / "s", 1)
        longest, before = 0.0, time.monotonic()
        while not asked.done():
            time.sleep(0.01)  # the tick of a thread that has something to do
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        assert asked.result() is Sign.SILENT
    assert longest < 0.5
    assert cluster.stop()


def test_a_server_that_hangs_is_told_to_stop_and_does_later(cluster: Cluster, home: Path) -> None:
    pid = cluster.start(home / "s", home / "log", FAST)
    with hanging(cluster), pytest.raises(ClusterError, match="hangs") as caught:
        cluster.stop(deadline=0.1, last_words=0.1)
    assert f"kill -CONT {pid}" in str(caught.value.remedy)
    wait_until(lambda: cluster.running_pid() is None)
    assert cluster.start(home / "s", home / "log", FAST) != pid
    assert cluster.stop()


def test_a_killed_server_is_reaped_and_got_over(cluster: Cluster, home: Path) -> None:
    pid = cluster.start(home / "s", home / "log", FAST)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: cluster.running_pid() is None and not Path(f"/proc/{pid}").exists())
    assert cluster.start(home / "s", home / "log", FAST) != pid
    assert cluster.stop()


def test_a_second_start_does_not_hurt_the_first(cluster: Cluster, home: Path) -> None:
    pid = cluster.start(home / "s", home / "log", FAST)
    with pytest.raises(ClusterError) as caught:
        cluster.start(home / "s", home / "log", FAST)
    assert str(pid) in str(caught.value.detail)
    assert cluster.running_pid() == pid
    assert cluster.answers(home / "s")
    assert cluster.stop()


def test_a_refused_setting_is_in_the_detail(cluster: Cluster, home: Path) -> None:
    with pytest.raises(ClusterError, match="ended while starting") as caught:
        cluster.start(home / "s", home / "log", {**FAST, "work_mem": "nonsense"})
    assert "work_mem" in str(caught.value.detail)


def test_a_server_that_is_not_ready_in_time_is_ended(cluster: Cluster, home: Path) -> None:
    with pytest.raises(ClusterError, match="in time"):
        cluster.start(home / "s", home / "log", FAST, deadline=0)
    assert cluster.running_pid() is None


def test_statements_can_be_carried_out_without_a_server(cluster: Cluster, home: Path) -> None:
    statements = ["CREATE ROLE alone", "SELECT count(*) FROM pg_roles WHERE rolname = 'alone'"]
    printed = cluster.single_user("template1", statements, home / "log", FAST, 60)
    assert ' 1: count = "1"' in printed
    assert cluster.running_pid() is None


def test_a_statement_that_fails_ends_the_others(cluster: Cluster, home: Path) -> None:
    statements = ["SELECT 1/0", "CREATE ROLE never"]
    with pytest.raises(ClusterError) as caught:
        cluster.single_user("template1", statements, home / "log", FAST, 60)
    assert "22012 FATAL:  division by zero" in str(caught.value.detail)
    with pytest.raises(NoSuchDatabaseError):
        cluster.single_user("nowhere", statements, home / "log", FAST, 60)
    cluster.single_user("template1", ["CREATE ROLE never"], home / "log", FAST, 60)


def test_statements_without_a_server_have_a_deadline(cluster: Cluster, home: Path) -> None:
    with pytest.raises(ClusterError, match="did not end within 1 s"):
        cluster.single_user("template1", ["SELECT pg_sleep(600)"], home / "log", FAST, 1)
    assert cluster.running_pid() is None


def test_sessions_do_not_hold_up_a_stop(cluster: Cluster, home: Path) -> None:
    cluster.start(home / "s", home / "log", FAST)
    with psycopg.connect(cluster.conninfo(home / "s")) as connection:
        connection.execute("CREATE TABLE unfinished ()")
        assert cluster.stop()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()


def test_a_path_that_no_socket_can_have_is_refused(cluster: Cluster, home: Path) -> None:
    with pytest.raises(ClusterError, match="107"):
        cluster.start(home / ("x" * 100), home / "log", FAST)


def test_initdb_says_what_it_did_not_like(cluster: Cluster) -> None:
    with pytest.raises(ClusterError) as caught:
        cluster.initialise()
    assert "not empty" in str(caught.value.detail)


def test_missing_programs_are_named(home: Path) -> None:
    with pytest.raises(ProgramsMissingError, match="initdb"):
        Cluster(home / "none", Binaries(home), server_account()).initialise()
