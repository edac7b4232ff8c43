"""What may be restored into, and what is refused even with force."""

import os
import pwd
from pathlib import Path

import pytest

from leitstand.archive.restore_target import TargetRefusedError, checked_target


def refused(target: Path, *protected: Path, force: bool = True) -> str:
    with pytest.raises(TargetRefusedError) as caught:
        checked_target(target, force=force, protected=protected)
    return caught.value.message


def test_a_new_and_an_empty_directory(tmp_path: Path) -> None:
    new, empty = tmp_path / "new", tmp_path / "empty"
    empty.mkdir()
    assert checked_target(new, force=False, protected=()) == new
    assert checked_target(empty, force=False, protected=()) == empty


def test_content_needs_force(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").touch()
    assert "not empty" in refused(target, force=False)
    assert checked_target(target, force=True, protected=()) == target


@pytest.mark.parametrize("name", ["/", "/usr", "/home", "/..", "."])
def test_the_system_is_no_target(name: str) -> None:
    """Case 59."""
    refused(Path(name), Path.cwd())


def test_a_home_and_what_holds_it_is_no_target() -> None:
    """Case 59."""
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    refused(home)
    refused(home.parent)


def test_what_holds_the_backups_is_no_target(tmp_path: Path) -> None:
    """Case 59."""
    backups = tmp_path / "a" / "backups"
    backups.mkdir(parents=True)
    assert "must survive" in refused(backups, backups)
    assert "must survive" in refused(tmp_path / "a", backups)
    assert "not for restored data" in refused(backups / "inside", backups)


@pytest.mark.parametrize("target", [Path("/proc"), Path("/dev/shm"), Path("/dev/pts")])
def test_a_mount_point_is_no_target(target: Path) -> None:
    """Case 57."""
    refused(target)


def test_links_files_and_missing_parents(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    assert "symbolic link" in refused(tmp_path / "link")
    assert "no directory" in refused(tmp_path / "file")
    assert "parent" in refused(tmp_path / "nowhere" / "target")
    assert "parent" in refused(tmp_path / "file" / "target")


def test_links_among_the_parents_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = checked_target(tmp_path / "link" / "new", force=False, protected=())
    assert found == tmp_path / "real" / "new"
