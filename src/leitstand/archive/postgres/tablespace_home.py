"""Lays restored tablespaces beside those that a data directory uses, and drops the old ones later.

A data directory and its tablespaces cannot be exchanged in one step. So the new ones get a name
that nothing leads to yet: the exchange of the data directory, whose links lead to them, switches
both. Whatever a killed restore leaves here is something that no data directory refers to.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from leitstand.archive.atomic import discard
from leitstand.archive.directory_lock import Hold, lock_directory, open_directory
from leitstand.archive.postgres.durable import sync_path
from leitstand.store.account import Account

_PREFIX = "restored-"

log = structlog.get_logger(__name__)


def new_place(home: Path) -> Path:
    """Where new tablespaces will be in ``home``, as links to them have to say beforehand."""
    return home / f"{_PREFIX}{secrets.token_hex(4)}"


@contextmanager
def laid_beside(fresh: Path, place: Path, account: Account) -> Iterator[None]:
    """``fresh`` is at ``place`` during the block; if that fails it is removed, otherwise all else.

    Two at once take turns, so that neither removes what the other's data directory is about to
    use. Nothing may interrupt the block (``Interruptions.no_return``). Raises OSError.
    """
    home = place.parent
    home.mkdir(mode=0o700, exist_ok=True)
    account.own(home)
    descriptor = open_directory(home)
    try:
        lock_directory(descriptor, Hold.ALONE, wait=True)
        os.rename(fresh, place)
        sync_path(home)
        sync_path(home.parent)
        try:
            yield
        except BaseException:
            discard(place)
            with suppress(OSError):  # there is something in it that was there before
                home.rmdir()
            raise
        _drop_others(home, place)
    finally:
        os.close(descriptor)


def _drop_others(home: Path, place: Path) -> None:
    """The data directory is in its place: what cannot be removed now does not undo the restore."""
    for other in home.iterdir():
        problem = None if other == place else _drop(other)
        if problem is not None:
            log.warning("old tablespaces not removed", place=str(other), problem=problem)


def _drop(path: Path) -> str | None:
    if path.is_dir() and not path.is_symlink():
        return discard(path)
    try:
        path.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return None
