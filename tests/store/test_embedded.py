"""The embedded server: shared, adopted, recovered, closed to others, and never somebody else's."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from leitstand.store import bring_up
from leitstand.store.account import server_account
from leitstand.store.bring_up import EmbeddedError
from leitstand.store.cluster import Cluster, ClusterError
from leitstand.store.embedded import EmbeddedServer, embedded_server
from leitstand.store.file_lock import FileLock
from leitstand.store.place import PlaceError, prepare_place
from tests.conftest import Postgres, make_short_dir
from tests.store.embedded_scene import (
    User,
    cluster_below,
    copy_cluster,
    processes_about,
    stop_leftover,
    wait_until,
)

FAST = {"fsync": "off"}
NOBODY = 65534


@pytest.fixture
def data_dir(short_dir: Path) -> Iterator[Path]:
    """A data directory that does not exist yet; no test may leave a server on it."""
    path = short_dir / "data"
    yield path
    assert not stop_leftover(path), "a server was left running"


@pytest.fixture(scope="module")
def pristine() -> Iterator[Path]:
    """A data directory as the first start leaves it."""
    directory = make_short_dir()
    server = EmbeddedServer(directory, FAST)
    server.open()
    server.close()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def used_dir(pristine: Path) -> Iterator[Path]:
    """A data directory with a cluster and no server; the tests share it, one after the other."""
    yield pristine
    assert not stop_leftover(pristine), "a server was left running"


def answer(conninfo: str) -> tuple[object, ...] | None:
    """One row with what matters about the session behind ``conninfo``."""
    query = "SELECT current_user::text, current_database()::text"
    with psycopg.connect(conninfo) as connection:
        return connection.execute(query).fetchone()


async def test_the_first_start_creates_what_leitstand_needs(data_dir: Path) -> None:
    async with EmbeddedServer(data_dir, FAST) as server:
        assert answer(server.conninfo) == ("leitstand", "leitstand")
        expected = {
            "listen_addresses": "",
            "summarize_wal": "on",
            "data_checksums": "on",
            "wal_level": "replica",
            "TimeZone": "UTC",
        }
        with psycopg.connect(server.conninfo) as connection:
            query = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
            assert dict(connection.execute(query, (list(expected),)).fetchall()) == expected


async def test_the_way_in_is_all_that_most_callers_want(data_dir: Path) -> None:
    """And this one runs with fsync, as in production."""
    async with embedded_server(data_dir) as conninfo:
        assert answer(conninfo) == ("leitstand", "leitstand")
    assert cluster_below(data_dir).running_pid() is None


async def test_it_can_be_backed_up(used_dir: Path, short_dir: Path) -> None:
    async with EmbeddedServer(used_dir, FAST) as server:
        program = server.cluster.binaries.path("pg_basebackup")
        target = ["--pgdata", str(short_dir / "copy"), "--checkpoint=fast"]
        subprocess.run([program, "--dbname", server.conninfo, *target], check=True, timeout=60)
    assert (short_dir / "copy" / "backup_manifest").is_file()


async def test_a_second_process_shares_it_and_the_last_one_stops_it(used_dir: Path) -> None:
    """A command that started the server leaves it to the control server that came meanwhile."""
    first = User(used_dir)
    pid = first.opened()["server_pid"]
    async with EmbeddedServer(used_dir, FAST) as second:
        assert second.cluster.running_pid() == pid
        first.leave()
        assert answer(second.conninfo) == ("leitstand", "leitstand")
        third = User(used_dir)
        assert third.opened()["server_pid"] == pid
        third.leave()
        assert second.cluster.running_pid() == pid
    assert cluster_below(used_dir).running_pid() is None
    assert processes_about(used_dir) == []


async def test_a_killed_process_leaves_a_server_that_is_adopted(used_dir: Path) -> None:
    first = User(used_dir)
    pid = first.opened()["server_pid"]
    first.kill()
    assert cluster_below(used_dir).running_pid() == pid
    async with EmbeddedServer(used_dir, FAST) as server:
        assert server.cluster.running_pid() == pid
        assert answer(server.conninfo) == ("leitstand", "leitstand")
    assert cluster_below(used_dir).running_pid() is None


async def test_a_killed_server_is_started_again_over_its_stale_pid_file(used_dir: Path) -> None:
    first = User(used_dir)
    pid = first.opened()["server_pid"]
    os.kill(pid, signal.SIGKILL)
    first.kill()
    assert (used_dir / "postgres/cluster/postmaster.pid").exists()
    async with EmbeddedServer(used_dir, FAST) as server:
        assert server.cluster.running_pid() not in (None, pid)
        assert answer(server.conninfo) == ("leitstand", "leitstand")


async def test_a_stale_pid_that_is_somebody_elses_now_is_left_alone(
    used_dir: Path, postgres: Postgres
) -> None:
    """Of the same user, in the same directory, or another PostgreSQL: none of them is ours."""
    async with EmbeddedServer(used_dir, FAST) as server:
        cluster, socket_dir = server.cluster.data, server.place.socket_dir
        pid_file = (cluster / "postmaster.pid").read_text()
    stranger = subprocess.Popen(["sleep", "600"], cwd=cluster, **server_account().popen_options())
    foreign_server = postgres.cluster.running_pid()
    try:
        for pid in (stranger.pid, foreign_server):
            stale = f"{pid}\n{pid_file.partition(chr(10))[2]}"
            (cluster / "postmaster.pid").write_text(stale)
            (socket_dir / ".s.PGSQL.5432.lock").write_text(stale)
            async with EmbeddedServer(used_dir, FAST) as server:
                assert server.cluster.running_pid() not in (None, pid)
                assert answer(server.conninfo) == ("leitstand", "leitstand")
        assert stranger.poll() is None
        assert postgres.cluster.running_pid() == foreign_server
    finally:
        stranger.terminate()
        stranger.wait()


def test_four_processes_that_start_at_once_get_one_server(data_dir: Path) -> None:
    users = [User(data_dir) for _ in range(4)]
    facts = [user.opened() for user in users]
    assert len({fact["server_pid"] for fact in facts}) == 1
    for user, fact in zip(users, facts, strict=True):
        assert answer(fact["conninfo"]) == ("leitstand", "leitstand")
        user.leave()
    assert cluster_below(data_dir).running_pid() is None
    assert processes_about(data_dir) == []


async def test_processes_that_end_at_once_stop_it_once(used_dir: Path) -> None:
    servers = [EmbeddedServer(used_dir, FAST) for _ in range(5)]
    await asyncio.gather(*(server.__aenter__() for server in servers))
    await asyncio.gather(*(server.__aexit__() for server in servers))
    assert cluster_below(used_dir).running_pid() is None


async def test_a_start_waits_for_another_that_is_at_work(data_dir: Path) -> None:
    place = prepare_place(data_dir)
    server = EmbeddedServer(data_dir, FAST)
    with FileLock(place.start_lock):
        start = threading.Thread(target=server.open)
        start.start()
        start.join(0.3)
        assert start.is_alive()
        assert not place.cluster.exists()
    await asyncio.to_thread(start.join)
    assert answer(server.conninfo) == ("leitstand", "leitstand")
    await asyncio.to_thread(server.close)


async def test_a_cancelled_start_leaves_nothing(data_dir: Path) -> None:
    start = asyncio.create_task(EmbeddedServer(data_dir, FAST).__aenter__())
    await asyncio.to_thread(wait_until, (data_dir / "postgres/users.lock").exists)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not (data_dir / "postgres/cluster").exists()
    await asyncio.to_thread(wait_until, lambda: processes_about(data_dir) == [])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_a_server_that_goes_away_is_brought_back(used_dir: Path, how: signal.Signals) -> None:
    async with EmbeddedServer(used_dir, FAST) as server:
        assert not await server.ensure_running()
        pid = server.cluster.running_pid()
        assert pid is not None
        os.kill(pid, how)
        await asyncio.to_thread(wait_until, lambda: server.cluster.running_pid() is None)
        assert await server.ensure_running()
        await asyncio.to_thread(_wait_until_reaped, server.cluster, pid)
        assert answer(server.conninfo) == ("leitstand", "leitstand")


def _wait_until_reaped(cluster: Cluster, pid: int) -> None:
    """Looking for the server fetches the status of the one before, as soon as it has one."""
    wait_until(lambda: cluster.running_pid() != pid and not Path(f"/proc/{pid}").exists())


async def test_watching_brings_it_back(used_dir: Path) -> None:
    async with EmbeddedServer(used_dir, FAST) as server:
        watch = asyncio.create_task(server.watch(0.02))
        pid = server.cluster.running_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(wait_until, lambda: server.cluster.running_pid() not in (None, pid))
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch
        await server.ensure_running()  # the watch may have been cancelled in the middle of a start
        assert answer(server.conninfo) == ("leitstand", "leitstand")


async def test_any_path_will_do(short_dir: Path, pristine: Path) -> None:
    """Longer than a socket's path may be, and with all that needs quoting somewhere."""
    data_dir = short_dir / "with spaces, a 'quote', \"two\" and a back\\slash" / ("ä" * 60)
    copy_cluster(pristine / "postgres/cluster", data_dir)
    assert len(os.fsencode(data_dir)) > 107
    async with EmbeddedServer(data_dir, FAST) as server:
        assert answer(server.conninfo) == ("leitstand", "leitstand")
        socket_dir = server.place.socket_dir
    assert not socket_dir.exists()
    assert cluster_below(data_dir).running_pid() is None


def test_a_socket_directory_that_is_not_ours_is_refused(short_dir: Path) -> None:
    place = prepare_place(short_dir / ("x" * 100))
    assert place.socket_dir.parent == Path("/tmp")
    place.socket_dir.symlink_to(short_dir)
    try:
        with pytest.raises(PlaceError, match=str(place.socket_dir)):
            place.make_socket_dir()
    finally:
        place.socket_dir.unlink()


def test_an_ordinary_user_needs_nothing_from_root(short_dir: Path) -> None:
    """And where the tests run as root: root may use the ordinary user's server afterwards."""
    home = short_dir / "home"
    home.mkdir(mode=0o700)
    switch = os.geteuid() == 0
    if switch:
        os.chown(home, NOBODY, NOBODY)
    uid = NOBODY if switch else None
    user = User(home / "data", uid)
    facts = user.opened()
    ourselves = EmbeddedServer(home / "data", FAST)
    ourselves.open()
    assert ourselves.cluster.running_pid() == facts["server_pid"]
    assert ourselves.cluster.data.stat().st_uid == home.stat().st_uid
    user.leave()
    assert answer(ourselves.conninfo) == ("leitstand", "leitstand")
    os.kill(facts["server_pid"], signal.SIGKILL)
    wait_until(lambda: ourselves.cluster.running_pid() is None)
    assert ourselves.revive()
    again = User(home / "data", uid)
    again.opened()
    ourselves.close()
    again.leave()
    assert processes_about(home) == []


async def test_other_users_are_not_let_in(used_dir: Path) -> None:
    """Neither by the permissions of the socket nor, were those opened, by the server."""
    async with EmbeddedServer(used_dir, FAST) as server:
        with psycopg.connect(server.conninfo) as connection:
            query = "SELECT DISTINCT type, auth_method FROM pg_hba_file_rules"
            assert connection.execute(query).fetchall() == [("local", "peer")]
        assert server.place.socket_dir.stat().st_mode & 0o077 == 0
        if os.geteuid() == 0:
            assert "Permission denied" in _refusal(server.conninfo)
            server.place.socket_dir.chmod(0o755)
            (server.place.socket_dir / ".s.PGSQL.5432").chmod(0o777)
            assert "Peer authentication failed" in _refusal(server.conninfo)


def _refusal(conninfo: str) -> str:
    script = "import os, psycopg, sys; os.setuid(int(sys.argv[2])); psycopg.connect(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", script, conninfo, str(NOBODY)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


async def test_a_killed_initdb_is_never_taken_for_a_cluster(data_dir: Path) -> None:
    first = User(data_dir)
    await asyncio.to_thread(
        wait_until, lambda: any((data_dir / "postgres").glob("initialising-*/base"))
    )
    first.kill()
    async with EmbeddedServer(data_dir, FAST) as server:
        assert answer(server.conninfo) == ("leitstand", "leitstand")
        # The orphaned initdb fails in the directory that was taken away from it.
        await asyncio.to_thread(
            wait_until, lambda: not any("initialising-" in p for p in processes_about(data_dir))
        )
    async with EmbeddedServer(data_dir, FAST) as server:
        assert server.cluster.initialised()


async def test_another_major_version_is_refused(used_dir: Path) -> None:
    version = used_dir / "postgres/cluster/PG_VERSION"
    right = version.read_text()
    version.write_text("16\n")
    with pytest.raises(EmbeddedError, match="PostgreSQL 16") as caught:
        await EmbeddedServer(used_dir, FAST).__aenter__()
    assert "pg_upgrade" in str(caught.value.remedy)
    version.unlink()
    with pytest.raises(EmbeddedError, match="not a complete"):
        await EmbeddedServer(used_dir, FAST).__aenter__()
    version.write_text(right)


async def test_a_server_that_cannot_start_says_why(
    used_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClusterError) as caught:
        await EmbeddedServer(used_dir, {**FAST, "shared_buffers": "nonsense"}).__aenter__()
    assert "shared_buffers" in str(caught.value.detail)
    assert str(used_dir / "postgres/log") in str(caught.value.remedy)
    monkeypatch.setattr(bring_up, "SCARCE", 1 << 62)
    with pytest.raises(ClusterError) as caught:
        await EmbeddedServer(used_dir, {**FAST, "shared_buffers": "nonsense"}).__aenter__()
    assert "make room" in str(caught.value.remedy)
    async with EmbeddedServer(used_dir, FAST) as server:
        assert answer(server.conninfo) == ("leitstand", "leitstand")


async def test_a_long_log_begins_anew(used_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leitstand.store.place.LOG_LIMIT", 100)
    async with EmbeddedServer(used_dir, FAST) as server:
        wait_until(lambda: server.place.log_file.stat().st_size > 100)
        await server.ensure_running()
        assert server.place.log_file.stat().st_size == 0
        assert (server.place.directory / "log.1").stat().st_size > 100


def test_another_users_directory_is_refused(short_dir: Path) -> None:
    """PostgreSQL serves only what belongs to its user, and what root owns it does not serve."""
    account = server_account()
    place = prepare_place(short_dir / "data")
    assert place.account == account
    server = EmbeddedServer(Path("/proc"), FAST)
    with pytest.raises(PlaceError, match="/proc/postgres"):
        server.open()


async def test_a_vanished_cluster_is_not_replaced_by_an_empty_one(data_dir: Path) -> None:
    """An empty database in its place would hide the loss."""
    async with EmbeddedServer(data_dir, FAST) as server:
        cluster = server.place.cluster
        aside = cluster.with_name("aside")
        server.cluster.stop()
        cluster.rename(aside)
        with pytest.raises(EmbeddedError, match="vanished"):
            await server.ensure_running()
        assert not cluster.exists()
        aside.rename(cluster)
        assert await server.ensure_running()
