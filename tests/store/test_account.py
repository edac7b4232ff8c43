"""Accounts: who serves, who may reach and execute what."""

import os
import pwd
from pathlib import Path

import pytest

from leitstand.store.account import Account, AccountError, account_of, server_account, user_name

STRANGER = Account("stranger", 54321, 54321, switch=True)
"""Owns nothing, so that only the rights of others count for it."""


def test_the_server_never_runs_as_root() -> None:
    account = server_account()
    assert account.uid != 0
    assert account.switch == (os.geteuid() == 0)
    assert account == server_account()


def test_every_directory_on_the_way_must_let_pass(short_dir: Path) -> None:
    inner = short_dir / "outer" / "inner"
    inner.mkdir(parents=True)
    assert STRANGER.can_reach(inner)
    assert STRANGER.can_reach(inner / "not yet there")
    inner.parent.chmod(0o700)
    assert not STRANGER.can_reach(inner)


def test_a_symlink_does_not_open_what_lies_behind_it(short_dir: Path) -> None:
    closed = short_dir / "closed" / "data"
    closed.mkdir(parents=True)
    closed.parent.chmod(0o700)
    link = short_dir / "link"
    link.symlink_to(closed)
    assert not STRANGER.can_reach(link)


def test_owner_and_group_count_before_others(short_dir: Path) -> None:
    """As in the kernel: the owner has only the owner's rights, the group only the group's."""
    status = short_dir.stat()
    owner = Account("owner", status.st_uid, 54321, switch=True)
    group = Account("group", 54321, status.st_gid, switch=True)
    short_dir.chmod(0o077)
    assert not owner.can_reach(short_dir)
    assert group.can_reach(short_dir)
    short_dir.chmod(0o701)
    assert owner.can_reach(short_dir)
    assert not group.can_reach(short_dir)
    assert STRANGER.can_reach(short_dir)


def test_executing_needs_the_right_on_the_file_too(short_dir: Path) -> None:
    program = short_dir / "program"
    program.touch(mode=0o644)
    assert not STRANGER.can_execute(program)
    program.chmod(0o755)
    assert STRANGER.can_execute(program)


def test_ourselves_are_not_judged(short_dir: Path) -> None:
    ourselves = Account("me", os.geteuid(), os.getegid(), switch=False)
    assert ourselves.popen_options() == {}
    assert ourselves.can_reach(short_dir)
    ourselves.own_tree(short_dir)  # and nothing changes
    assert short_dir.stat().st_uid == os.geteuid()


def test_data_is_served_by_its_owner(short_dir: Path) -> None:
    account = server_account()
    account.own(short_dir)
    assert account_of(short_dir) == account


def test_what_belongs_to_root_cannot_be_served() -> None:
    with pytest.raises(AccountError, match="belongs to root") as caught:
        account_of(Path("/"))
    assert caught.value.remedy


def test_own_tree_leaves_the_targets_of_links_alone(short_dir: Path) -> None:
    tree, outside = short_dir / "tree", short_dir / "outside"
    tree.mkdir()
    outside.touch()
    (tree / "link").symlink_to(outside)
    before = outside.stat().st_uid
    server_account().own_tree(tree)
    assert outside.stat().st_uid == before
    assert (tree / "link").lstat().st_uid == server_account().uid


def test_a_user_without_an_entry_is_called_by_number() -> None:
    assert user_name(0) == pwd.getpwuid(0).pw_name
    assert user_name(54321) == "54321"
