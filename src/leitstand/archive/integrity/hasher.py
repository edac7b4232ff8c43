"""One of those who hash side by side: a process of its own for plain files, else this thread."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from leitstand.archive.integrity import tree_hashing
from leitstand.archive.integrity.directory_store import unreadable
from leitstand.archive.integrity.hashed import Handful, Hashed, hash_object
from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.store import Store
from leitstand.archive.integrity.tree_hashing import Allowance, Answer, in_slice
from leitstand.errors import FailureClass, LeitstandError

_PROGRAM = Path(tree_hashing.__file__)


class HasherStoppedError(LeitstandError):
    """A hashing process ended without being told to, as when memory is short."""

    code = "HASHER_STOPPED"
    failure_class = FailureClass.TRANSIENT


class Hasher(Protocol):
    """Hashes objects in their order, within an allowance. One thread calls it, any may stop it."""

    def hash(self, revisions: Sequence[Revision]) -> Handful:
        """The first of them, as many as a slice of time allows; none: the allowance is used up.

        After ``stop`` it returns what is complete, or raises HasherStoppedError.
        """

    def stop(self) -> None:
        """End it soon, whatever it is reading."""

    def close(self) -> None:
        """Stop, and wait until nothing is left of it."""


class StoreHasher:
    """Hashes in the calling thread, through the store; what waits there is the network."""

    def __init__(self, store: Store, allowance: Allowance) -> None:
        self._store = store
        self._allowance = allowance
        self._stopped = threading.Event()

    def hash(self, revisions: Sequence[Revision]) -> Handful:
        """See Hasher."""
        handful = Handful()
        for hashed in in_slice(revisions, self._hash, self._allowance):
            handful.add(hashed)
        return handful

    def _hash(self, revision: Revision) -> Hashed:
        return hash_object(self._store, revision, self._spend)

    def _spend(self, count: int) -> None:
        if self._stopped.wait(self._allowance.spend(count)):
            raise HasherStoppedError("it was told to stop")

    def stop(self) -> None:
        """See Hasher."""
        self._stopped.set()

    def close(self) -> None:
        """See Hasher."""
        self.stop()


class TreeHasher:
    """Hashes the files below a directory in a process that ends with this one."""

    def __init__(self, root: bytes, allowance: Allowance) -> None:
        life, self._life = os.pipe()
        limits = [str(allowance.rate), str(allowance.budget)]
        try:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", str(_PROGRAM)),
                    *(str(life), str(allowance.descriptor), *limits, os.fsdecode(root)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(life, allowance.descriptor),
                process_group=0,  # an interrupt from the terminal is for who reads the answers
            )
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(life)

    def hash(self, revisions: Sequence[Revision]) -> Handful:
        """See Hasher."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None and back is not None  # noqa: S101 - they were asked for
        try:
            tree_hashing.send(to, [(each.storage_key, each.checksum) for each in revisions])
            answers = tree_hashing.receive(back)
        except OSError:
            answers = None
        if answers is None:
            raise HasherStoppedError(
                f"the process {self._process.pid} that hashes objects has ended",
                remedy="Look whether memory was short (dmesg), and scrub again: it goes on.",
            )
        return _handful(revisions, answers)

    def stop(self) -> None:
        """See Hasher."""
        self._process.kill()

    def close(self) -> None:
        """See Hasher."""
        self.stop()
        os.close(self._life)
        with suppress(BrokenPipeError), self._process:  # of a request that was not taken any more
            pass


def _handful(revisions: Sequence[Revision], answers: Sequence[Answer]) -> Handful:
    handful = Handful()
    for revision, answer in zip(revisions, answers, strict=False):
        if isinstance(answer, int):
            handful.add_right(revision, answer)
        else:
            handful.wrong.append(_wrong(revision, *answer))
    return handful


def _wrong(revision: Revision, digest: str | None, size: int, number: int, why: str) -> Hashed:
    if digest is not None:
        return Hashed(revision, digest, size)
    return Hashed.failed(revision, size, unreadable(revision.storage_key, number, why))


def hasher_for(store: Store, allowance: Allowance) -> Hasher:
    """A hasher that is as good as can be for the store."""
    if store.tree is None:
        return StoreHasher(store, allowance)
    return TreeHasher(store.tree, allowance)
