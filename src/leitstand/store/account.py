"""The unprivileged account that PostgreSQL servers run under, since PostgreSQL refuses root."""

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leitstand.errors import LeitstandError

ACCOUNT_NAME = "leitstand"


class AccountError(LeitstandError):
    """Running as root, and no unprivileged account could be found or created."""

    code = "ACCOUNT"


@dataclass(frozen=True)
class Account:
    """An operating-system user; ``switch`` says whether child processes must change to it."""

    name: str
    uid: int
    gid: int
    switch: bool

    def popen_options(self) -> dict[str, Any]:
        """Keyword arguments for subprocess that make the child run under this account."""
        if not self.switch:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Give ``path`` (itself, not what is in it) to this account; nothing to do unless root."""
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def own_tree(self, top: Path) -> None:
        """Give ``top`` and all below it to this account, following no links."""
        if not self.switch:
            return
        self.own(top)
        for folder, directories, files in os.walk(top):
            for name in directories + files:
                os.chown(os.path.join(folder, name), self.uid, self.gid, follow_symlinks=False)

    def can_reach(self, path: Path) -> bool:
        """Whether this account may enter every existing directory on the way to ``path``."""
        if not self.switch:
            return True
        resolved = path.resolve()
        existing = [p for p in (resolved, *resolved.parents) if p.is_dir()]
        return all(self._may_enter(p.stat()) for p in existing)

    def can_execute(self, program: Path) -> bool:
        """Whether this account may run ``program``; ourselves are left to the system's answer."""
        if not self.switch:
            return True
        return self.can_reach(program.parent) and self._may_enter(program.stat())

    def _may_enter(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def server_account() -> Account:
    """The account for PostgreSQL servers: ourselves, or as root the system user ``leitstand``.

    As root the user is created on first need; two callers at once both find it afterwards.
    """
    if os.geteuid() != 0:
        return Account(user_name(os.geteuid()), os.geteuid(), os.getegid(), switch=False)
    entry = _lookup(ACCOUNT_NAME) or _create(ACCOUNT_NAME)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switch=True)


def account_of(path: Path) -> Account:
    """The account that ``path`` belongs to: a server runs under the owner of its data.

    So root may look after a cluster that an ordinary user began. Anybody else may use only what is
    their own: AccountError otherwise, and for what belongs to root, as PostgreSQL refuses root.
    """
    status = path.stat()
    name = user_name(status.st_uid)
    if status.st_uid == os.geteuid() != 0:
        return Account(name, status.st_uid, status.st_gid, switch=False)
    if os.geteuid() == 0 != status.st_uid:
        return Account(name, status.st_uid, status.st_gid, switch=True)
    raise AccountError(
        f"{path} belongs to {name}, and {user_name(os.geteuid())} cannot run PostgreSQL on it",
        remedy="Run Leitstand as the user who began with this data directory, or choose another.",
    )


def user_name(uid: int) -> str:
    """The name of the user ``uid``, or the number itself where no entry names it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container's bare uid without an entry
        return str(uid)


def _lookup(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _create(name: str) -> pwd.struct_passwd:
    useradd = shutil.which("useradd") or "/usr/sbin/useradd"
    options = ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"]
    done = subprocess.run(
        [useradd, *options, name], capture_output=True, text=True, timeout=30, check=False
    )
    entry = _lookup(name)
    if entry is None:
        raise AccountError(
            f"PostgreSQL cannot run as root and the system user {name!r} could not be created",
            detail=done.stderr.strip() or None,
            remedy=f"Create it (useradd --system {name}) or start Leitstand as an ordinary user.",
        )
    return entry
